// The formats besides qcow2, through the command: its texts and outputs, compared with qemu-img where that is right.

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decant } from '../support/command.js';
import { flush, hashFile, images, PASSWORD, qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

for (const [format, details] of [
  ['vdi', {}],
  ['qed', FULL],
  ['vpc', FULL],
  ['parallels', {}],
] as const) {
  test(`${format}: info, map and convert as qemu-img has them`, details, ({ folder }) => {
    const [image, output] = [images.partly(format), join(folder, 'out.raw')];
    process.env.TZ = 'UTC';
    // Until its last blocks are on the disk, a new file's size there still changes.
    flush(image);
    expect(decant('info', image)).toMatchObject({ status: 0, stderr: '', stdout: qemuImg('info', image) });
    const { decant: ours, ...info } = JSON.parse(decant('info', '--output=json', image).stdout);
    // qemu-img has no such flag for Parallels.
    expect(info).toEqual({ 'dirty-flag': false, ...JSON.parse(qemuImg('info', '--output=json', image)) });
    expect(ours).toMatchObject({ needs: [], layers: [{ format }] });
    expect(decant('map', image).stdout).toBe(qemuImg('map', image));
    expect(decant('map', '--output=json', image).stdout).toBe(qemuImg('map', '--output=json', image));
    expect(decant('convert', image, output)).toMatchObject({ status: 0, stdout: '', stderr: '' });
    const expected = join(folder, 'expected.raw');
    qemuImg('convert', '-O', 'raw', image, expected);
    expect(hashFile(output)).toBe(hashFile(expected));
  });
}

for (const [options, details] of [
  ['subformat=dynamic', FULL],
  ['subformat=dynamic,block_size=1M', {}],
  ['subformat=fixed,block_size=2M', FULL],
] as const) {
  // qemu-img has no map of a VHDX, and prints less of it.
  test(`vhdx with ${options}: info and convert as qemu-img has them`, details, ({ folder }) => {
    const [image, output] = [images.vhdx(options), join(folder, 'out.raw')];
    flush(image);
    const { stdout, ...text } = decant('info', image);
    expect(text).toMatchObject({ status: 0, stderr: '' });
    const [common, specific] = stdout.split('Format specific information:\n') as [string, string];
    expect(common).toBe(qemuImg('info', image));
    const [, subformat] = /subformat=(\w+)/.exec(options) as RegExpExecArray;
    expect(specific).toMatch(
      new RegExp(
        `^ {4}subformat: ${subformat}\\n {4}logical sector size: 512\\n {4}physical sector size: 512\\n {4}disk id: `,
      ),
    );
    const { decant: ours, 'format-specific': _, ...info } = JSON.parse(decant('info', '--output=json', image).stdout);
    expect(info).toEqual(JSON.parse(qemuImg('info', '--output=json', image)));
    expect(ours).toMatchObject({ needs: [], layers: [{ format: 'vhdx' }], safety: [] });
    const mapped = JSON.parse(decant('map', '--output=json', image).stdout) as { length: number; data: boolean }[];
    expect(mapped.reduce((sum, { length }) => sum + length, 0)).toBe(10 << 20);
    if (options.includes('block_size=1M')) {
      expect(mapped.filter(({ data }) => data).map(({ length }) => length)).toEqual([1 << 20, 1 << 20, 1 << 20]);
    }
    expect(decant('convert', image, output)).toMatchObject({ status: 0, stdout: '', stderr: '' });
    const expected = join(folder, 'expected.raw');
    qemuImg('convert', '-O', 'raw', image, expected);
    expect(hashFile(output)).toBe(hashFile(expected));
  });
}

test('luks: info and convert as qemu-img has them; -f raw keeps the ciphertext', ({ folder }) => {
  const [image, output, secret] = [images.volume(), join(folder, 'out.raw'), join(folder, 'secret')];
  writeFileSync(secret, PASSWORD);
  flush(image);
  const { stdout, status } = decant('info', image);
  expect(status).toBe(0);
  const [, details] = qemuImg('info', image).split('encrypted: ');
  expect(stdout).toContain(details);
  const { decant: ours, ...info } = JSON.parse(decant('info', '--output=json', image).stdout);
  expect(info).toEqual(JSON.parse(qemuImg('info', '--output=json', image)));
  expect(ours).toMatchObject({ needs: [{ kind: 'password' }], layers: [{ format: 'luks', encryption: 'luks' }] });
  expect(decant('convert', '--password-file', secret, image, output)).toMatchObject({ status: 0, stderr: '' });
  const expected = join(folder, 'expected.raw');
  qemuImg('convert', '-O', 'raw', images.partly('vdi'), expected);
  expect(hashFile(output)).toBe(hashFile(expected));
  const asItIs = decant('convert', '-f', 'raw', image, join(folder, 'as-it-is'));
  const advice =
    'its own bytes are read as a raw disk, as the stated format says; to read the disk in it, state the format luks';
  expect(asItIs).toMatchObject({ status: 0, stderr: `decant: note: The file is LUKS, but ${advice}\n` });
  expect(hashFile(join(folder, 'as-it-is'))).toBe(hashFile(image));
});

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

test('a bundle of Parallels is its folder', ({ folder }) => {
  const [bundle, output, expected] = ['disk.hdd', 'out.raw', 'expected.raw'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const top = '{5fbaabe3-6958-40ff-92a7-860e329aab41}';
  const sectors = (10 << 20) / 512;
  mkdirSync(bundle);
  copyFileSync(images.partly('parallels'), join(bundle, `disk.hdd.0.${top}.hds`));
  writeFileSync(
    join(bundle, 'DiskDescriptor.xml'),
    `<?xml version='1.0' encoding='UTF-8'?>
    <Parallels_disk_image Version="1.0">
      <Disk_Parameters><Disk_size>${sectors}</Disk_size><LogicSectorSize>512</LogicSectorSize></Disk_Parameters>
      <StorageData><Storage><Start>0</Start><End>${sectors}</End><Blocksize>2048</Blocksize>
        <Image><GUID>${top}</GUID><Type>Compressed</Type><File>disk.hdd.0.${top}.hds</File></Image>
      </Storage></StorageData>
      <Snapshots><Shot><GUID>${top}</GUID><ParentGUID>{00000000-0000-0000-0000-000000000000}</ParentGUID></Shot></Snapshots>
    </Parallels_disk_image>`,
  );
  expect(decant('convert', bundle, output)).toMatchObject({ status: 0, stdout: '', stderr: '' });
  qemuImg('convert', '-O', 'raw', images.partly('parallels'), expected);
  expect(hashFile(output)).toBe(hashFile(expected));
});
