// Suggested names for a disk, and names that no file can have.

import { expect, test } from 'vitest';
import { fileHandle, fileOf, folderHandle } from '../e2e/support/units/element.js';
import { downloadName, freeNameIn, nameProblem, problemSoFar, suggestName, withExtension } from './names.js';
import { english } from './texts/english.js';

// (image, extension of the output, taken names, suggestion)
for (const [image, extension, taken, suggested] of [
  ['disk.qcow2', '.raw', [], 'disk.raw'],
  ['disk.qcow2', '.raw', ['disk.raw'], 'disk-1.raw'],
  ['disk.qcow2', '.raw', ['DISK.RAW', 'disk-1.raw'], 'disk-2.raw'],
  ['disk.raw', '.raw', ['disk.raw'], 'disk-1.raw'],
  ['disk.qcow2', '.tar.gz', ['disk.tar.gz'], 'disk-1.tar.gz'],
  ['disk.raw.gz', '.vhd', [], 'disk.vhd'],
  ['Disk.QCOW2', '.raw.gz', [], 'Disk.raw.gz'],
  // `.qcow` is also used for qcow2.
  ['disk.qcow', '.raw', [], 'disk.raw'],
  ['disk.q', '.raw', [], 'disk.q.raw'],
  ['disk.img', '.raw', [], 'disk.raw'],
  ['disk.raw.qcow2', '.raw', [], 'disk.raw'],
  ['disk.tar', '.vhd', [], 'disk.vhd'],
  ['disk.RAW.xz', '.raw', [], 'disk.raw'],
  ['ubuntu-24.04.qcow2', '.raw', [], 'ubuntu-24.04.raw'],
  [`${'x'.repeat(249)}.vmdk`, '.raw', [], `${'x'.repeat(238)}.raw`],
  [`${'ü'.repeat(120)}.vdi`, '.raw.gz', [], `${'ü'.repeat(117)}.raw.gz`],
  ['my.disk', '.raw', [], 'my.disk.raw'],
  ['disk', '.raw', [], 'disk.raw'],
  ['.qcow2', '.raw', [], 'disk.raw'],
  ['a/b:c*?.qcow2', '.raw', [], 'a_b_c__.raw'],
  ['\u001b[31m.qcow2', '.raw', [], '_[31m.raw'],
  ['a\u202eb\u200b.qcow2', '.raw', [], 'ab.raw'],
] as [string, string, string[], string][]) {
  test(`for ${JSON.stringify(image)}, ${extension}, '${suggested}' is suggested`, () => {
    expect(suggestName(image, extension, taken)).toBe(suggested);
  });
}

for (const [name, extension, now] of [
  ['disk.raw', '.vhd', 'disk.vhd'],
  ['disk.RAW', '.raw.gz', 'disk.raw.gz'],
  ['disk.tar.gz', '.raw', 'disk.raw'],
  ['mine.disk', '.vhd', 'mine.disk'],
] as const) {
  test(`${name} for an output with ${extension} is ${now}`, () => expect(withExtension(name, extension)).toBe(now));
}

test('a free name is neither in the folder nor a name of the image', async () => {
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
  ['x'.repeat(248), undefined],
  ['x'.repeat(249), english.longName(249, 248)],
  ['ü'.repeat(125), english.longName(250, 248)],
  ['', english.noName],
  ['  ', english.noName],
  ['a/b.raw', english.badName('/')],
  ['a\\b', english.badName('\\')],
  ['a:b', english.badName(':')],
  ['a|b', english.badName('|')],
  ['a\u0007b', english.controlInName],
  ['disk.', english.nameEnd],
  ['disk ', english.nameEnd],
  ['disk\u00a0', english.nameEnd],
  ['..', english.nameEnd],
] as const) {
  test(`the problem of the name ${JSON.stringify(name)} is: ${problem ?? 'none'}`, () => {
    expect(nameProblem(name, english)).toBe(problem);
  });
}

test('the name of a download is the one that the browser gives to it', () => {
  // (name, name of the download)
  for (const [name, given] of [
    ['disk.raw', 'disk.raw'],
    ['Größe und 名前.raw', 'Größe und 名前.raw'],
    ['.hidden', 'hidden'],
    [' ..  disk.raw', 'disk.raw'],
    ['a~1\u200b.raw', 'a_1_.raw'],
  ] as const) {
    expect(nameProblem(name, english)).toBeUndefined();
    expect(downloadName(name)).toBe(given);
  }
});

test('while a name is typed, only a wrong beginning is a problem', () => {
  expect(['', 'disk.', 'disk '].map((name) => problemSoFar(name, english))).toEqual([undefined, undefined, undefined]);
  expect(problemSoFar('a/b', english)).toBe(english.badName('/'));
  expect(problemSoFar('x'.repeat(304), english)).toBe(english.longName(304, 248));
});
