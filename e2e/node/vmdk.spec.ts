// VMDK through the command: every kind that qemu-img makes, and disks of many extents.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { decant } from '../support/command.js';
import { hashFile, images, qemuImg, splitVmdk } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const KINDS = [
  'monolithicSparse',
  'monolithicFlat',
  'twoGbMaxExtentSparse',
  'twoGbMaxExtentFlat',
  'streamOptimized',
] as const;

const KINDS_IN_SHORT = ['twoGbMaxExtentFlat', 'streamOptimized'];

/** `--with` for every other file of the image's folder. */
const extentsOf = (image: string): string[] => {
  const folder = join(image, '..');
  const others = readdirSync(folder).filter((name) => name !== basename(image) && name.endsWith('.vmdk'));
  return others.flatMap((name) => ['--with', join(folder, name)]);
};

for (const kind of KINDS) {
  test(`converts and describes ${kind} as qemu-img does`, KINDS_IN_SHORT.includes(kind) ? {} : FULL, ({ folder }) => {
    const [image, output] = [join(folder, 'a.vmdk'), join(folder, 'out.raw')];
    qemuImg('convert', '-O', 'vmdk', '-o', `subformat=${kind}`, images.zlib(), image);
    const files = extentsOf(image);
    expect(decant('convert', ...files, image, output)).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(hashFile(output)).toBe(hashFile(images.raw()));

    const { decant: ours, ...info } = JSON.parse(decant('info', '--output=json', ...files, image).stdout);
    const theirs = JSON.parse(qemuImg('info', '--output=json', image));
    for (const { data } of [info['format-specific'], theirs['format-specific']]) {
      // qemu-img has paths of its own, and the image's where the descriptor is in it.
      for (const extent of data.extents) delete extent.filename;
    }
    // It counts all files; the size here is that of the image's.
    delete info['actual-size'];
    delete theirs['actual-size'];
    expect(info).toEqual(theirs);
    expect(ours.needs).toEqual([]);
    const [map, expected] = [
      JSON.parse(decant('map', '--output=json', ...files, image).stdout),
      JSON.parse(qemuImg('map', '--output=json', image)),
    ];
    // Of flat files qemu-img asks the file system for holes; a browser cannot.
    if (!kind.endsWith('Flat')) expect(map).toEqual(expected);
  });
}

test('a parent with another content ID is read only if it is forced', ({ folder }) => {
  const [base, top, output] = ['base.vmdk', 'top.vmdk', 'out.raw'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  qemuImg('convert', '-O', 'vmdk', images.zlib(), base);
  qemuImg('create', '-q', '-f', 'vmdk', '-F', 'vmdk', '-b', base, top);
  const bytes = readFileSync(base, 'latin1');
  const [line, id] = /\nCID=([0-9a-f]+)/.exec(bytes) as unknown as [string, string];
  const changed = '1'.repeat(id.length);
  writeFileSync(base, bytes.replace(line, `\nCID=${changed}`), 'latin1');
  const [wanted, found] = [id.padStart(8, '0'), changed.padStart(8, '0')];

  const refused = decant('convert', '--with', base, top, output);
  expect(refused).toMatchObject({ status: 1, stdout: '' });
  expect(refused.stderr).toContain(`expects ${wanted}: this file has ${found}`);

  const forced = decant('convert', '--force-parent', '--with', base, top, output);
  expect(forced).toMatchObject({ status: 0, stdout: '' });
  expect(forced.stderr).toContain(`expects ${wanted}; the file has ${found}`);
  expect(hashFile(output)).toBe(hashFile(images.raw()));
});

test('a disk of many extents needs all of them', ({ folder }) => {
  const { descriptor, extents, disk } = splitVmdk(folder);
  const output = join(folder, 'out.raw');
  const given = extents.flatMap((extent) => ['--with', extent]);
  expect(decant('convert', ...given, descriptor, output)).toMatchObject({ status: 0, stderr: '' });
  expect(readFileSync(output).equals(disk)).toBe(true);

  const missing = decant('convert', ...given.slice(2), descriptor, join(folder, 'none.raw'));
  expect(missing).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/'one.bin', the extent of '.*split.vmdk', is missing/),
  });
  const others = join(folder, 'others');
  writeFileSync(others, readFileSync(extents[0]!));
  const named = decant('convert', '--with', `one.bin=${others}`, ...given.slice(2), descriptor, output);
  expect(named).toMatchObject({ status: 0 });
});

test('a descriptor that was cut off after an extent gives what is left, with a note', ({ folder }) => {
  const { descriptor, extents, disk } = splitVmdk(folder);
  const output = join(folder, 'out.raw');
  const text = readFileSync(descriptor, 'utf8');
  const start = text.slice(0, text.indexOf('RDONLY'));
  const note = expect.stringMatching(/^decant: note: The descriptor may be cut off, and the disk shorter than it was/);
  for (const content of [start, start.padEnd(text.length, '\0')]) {
    writeFileSync(descriptor, content);
    const converted = decant('convert', '--with', extents[0]!, descriptor, output);
    expect(converted).toEqual({ status: 0, stdout: '', stderr: note });
    expect(readFileSync(output).equals(disk.subarray(0, disk.length - disk.length / 3))).toBe(true);
    expect(decant('info', '--with', extents[0]!, descriptor).stdout).toContain('may be cut off');
  }
  writeFileSync(descriptor, start.padEnd(text.indexOf('ddb.'), '\0') + text.slice(text.indexOf('ddb.')));
  const refused = decant('convert', '--with', extents[0]!, descriptor, output);
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('was overwritten with zero bytes') });
});

test('an extent alone says which file to open', ({ folder }) => {
  const image = join(folder, 'a.vmdk');
  qemuImg('create', '-q', '-f', 'vmdk', '-o', 'subformat=twoGbMaxExtentSparse', image, '1M');
  const alone = decant('info', join(folder, 'a-s001.vmdk'));
  expect(alone.status).not.toBe(0);
  expect(alone.stderr).toContain('open the descriptor');
});
