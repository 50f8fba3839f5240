// Names that are suggested for a disk, and names that no file can have.

import { expect, test } from 'vitest';
import { fileHandle, fileOf, folderHandle, imageOf } from '../e2e/support/units/element.js';
import { freeNameIn, nameProblem, suggestName, withExtension } from './names.js';
import { english } from './texts/english.js';

// (image, its format, extension of the output, names that are taken, suggestion)
for (const [image, format, extension, taken, suggested] of [
  ['disk.qcow2', 'qcow2', '.raw', [], 'disk.raw'],
  ['disk.qcow2', 'qcow2', '.raw', ['disk.raw'], 'disk-1.raw'],
  ['disk.qcow2', 'qcow2', '.raw', ['DISK.RAW', 'disk-1.raw'], 'disk-2.raw'],
  ['disk.raw', 'raw', '.raw', ['disk.raw'], 'disk-1.raw'],
  ['disk.raw.gz', 'raw', '.vhd', [], 'disk.vhd'],
  ['Disk.QCOW2', 'qcow2', '.raw.gz', [], 'Disk.raw.gz'],
  // `.qcow` stands for qcow2.
  ['disk.qcow', 'qcow2', '.raw', [], 'disk.raw'],
  ['disk.q', 'qcow2', '.raw', [], 'disk.q.raw'],
  ['disk.img', 'qcow2', '.raw', [], 'disk.raw'],
  ['my.disk', 'qcow2', '.raw', [], 'my.disk.raw'],
  ['disk', 'qcow2', '.raw', [], 'disk.raw'],
  ['.qcow2', 'qcow2', '.raw', [], 'disk.raw'],
  ['a/b:c*?.qcow2', 'qcow2', '.raw', [], 'a_b_c__.raw'],
  ['\u001b[31m.qcow2', 'qcow2', '.raw', [], '_[31m.raw'],
  ['a\u202eb\u200b.qcow2', 'qcow2', '.raw', [], 'ab.raw'],
] as [string, string, string, string[], string][]) {
  test(`for ${JSON.stringify(image)}, ${extension}, '${suggested}' is suggested`, () => {
    expect(suggestName(image, imageOf({ format }), extension, taken)).toBe(suggested);
  });
}

for (const [name, before, after, now] of [
  ['disk.raw', '.raw', '.vhd', 'disk.vhd'],
  ['disk.RAW', '.raw', '.raw.gz', 'disk.raw.gz'],
  ['mine.img', '.raw', '.vhd', 'mine.img'],
] as const) {
  test(`with ${after} instead of ${before}, ${name} is ${now}`, () =>
    expect(withExtension(name, before, after)).toBe(now));
}

test('a name is free where neither the folder nor the image has it', async () => {
  const file = fileHandle(fileOf('a'));
  const folder = folderHandle('picked', { 'disk-1.raw': file, 'disk-2.raw': folderHandle('disk-2.raw', {}) });
  expect(await freeNameIn(folder, 'disk.raw', ['Disk-3.raw'])).toBe('disk-4.raw');
  expect(await freeNameIn(folder, 'disk', [])).toBe('disk-1');
  expect(await freeNameIn(folder, '.raw', [])).toBe('.raw-1');
});

test('a folder that cannot be read is an error', async () => {
  const folder = folderHandle('picked', { 'disk-1.raw': new DOMException('no', 'NotAllowedError') });
  await expect(freeNameIn(folder, 'disk.raw', [])).rejects.toThrow('no');
});

for (const [name, problem] of [
  ['disk.raw', undefined],
  ['Größe und 名前.raw', undefined],
  ['.hidden', undefined],
  ['', english.noName],
  ['  ', english.noName],
  ['a/b.raw', english.badName('/')],
  ['a\\b', english.badName('\\')],
  ['a:b', english.badName(':')],
  ['a|b', english.badName('|')],
  ['a\u0007b', english.controlInName],
  ['disk.', english.nameEnd],
  ['disk ', english.nameEnd],
  ['..', english.nameEnd],
] as const) {
  test(`the problem of the name ${JSON.stringify(name)} is: ${problem ?? 'none'}`, () => {
    expect(nameProblem(name, english)).toBe(problem);
  });
}
