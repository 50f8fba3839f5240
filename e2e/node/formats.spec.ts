// The formats besides qcow2, through the command: its texts and outputs, compared with qemu-img where that is right.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decant } from '../support/command.js';
import { flush, hashFile, images, qemuImg } from '../support/images.js';
import { expect, test } from '../support/node.js';

for (const format of ['vdi', 'qed', 'vpc'] as const) {
  test(`${format}: info, map and convert as qemu-img has them`, ({ folder }) => {
    const [image, output] = [images.partly(format), join(folder, 'out.raw')];
    process.env.TZ = 'UTC';
    // Until its last blocks are on the disk, a new file's size there still changes.
    flush(image);
    expect(decant('info', image)).toMatchObject({ status: 0, stderr: '', stdout: qemuImg('info', image) });
    const { decant: ours, ...info } = JSON.parse(decant('info', '--output=json', image).stdout);
    expect(info).toEqual(JSON.parse(qemuImg('info', '--output=json', image)));
    expect(ours).toMatchObject({ needs: [], layers: [{ format }] });
    expect(decant('map', image).stdout).toBe(qemuImg('map', image));
    expect(decant('map', '--output=json', image).stdout).toBe(qemuImg('map', '--output=json', image));
    expect(decant('convert', image, output)).toMatchObject({ status: 0, stdout: '', stderr: '' });
    const expected = join(folder, 'expected.raw');
    qemuImg('convert', '-O', 'raw', image, expected);
    expect(hashFile(output)).toBe(hashFile(expected));
  });
}

test('a chain of differencing VDIs, found by their UUIDs', ({ folder }) => {
  const { top, below, raw } = images.vdiChain();
  const [middle, base] = below as [string, string];
  const output = join(folder, 'out.raw');
  const chain = ['--with', base, '--with', middle];
  expect(decant('convert', ...chain, top, output)).toMatchObject({ status: 0, stdout: '', stderr: '' });
  expect(hashFile(output)).toBe(hashFile(raw));
  const [, wanted] = decant('info', top).stdout.match(/^parent: ([0-9a-f-]{36})$/m) as RegExpMatchArray;
  const missing = decant('convert', '--with', base, top, output);
  expect(missing).toMatchObject({ status: 1, stderr: expect.stringContaining(`'${wanted}', the parent of`) });
  // A parent that was changed later has another state.
  const [changed, state] = [readFileSync(middle), 408];
  changed.fill(7, state, state + 16);
  const stale = join(folder, 'stale.vdi');
  writeFileSync(stale, changed);
  const broken = decant('convert', '--with', base, '--with', stale, top, output);
  expect(broken).toMatchObject({ status: 1, stderr: expect.stringContaining('has changed since') });
  expect(hashFile(output)).toBe(hashFile(raw));
});
