// Suggested names for a disk, and names that no file can have.

import { expect, test } from 'vitest';
import { fileHandle, fileOf, folderHandle } from '../element.test-support.js';
import { english } from '../texts/english/index.js';
import {
  downloadName,
  freeNameIn,
  nameProblem,
  plainName,
  problemSoFar,
  sizeInName,
  stateName,
  suggestName,
} from './names.js';

// (image, extension of the output, taken names, suggestion)
for (const [image, extension, taken, suggested] of [
  ['disk.qcow2', '.raw', [], 'disk.raw'],
  ['disk.qcow2', '.raw', ['disk.raw'], 'disk-converted.raw'],
  ['disk.qcow2', '.raw', ['DISK.RAW', 'disk-converted.raw'], 'disk-converted-1.raw'],
  ['disk.raw', '.raw', ['disk.raw'], 'disk-converted.raw'],
  // Composed and decomposed.
  ['Gr\u00f6\u00dfe.raw', '.raw', ['Gro\u0308\u00dfe.raw'], 'Gr\u00f6\u00dfe-converted.raw'],
  ['disk.qcow2', '.tar.gz', ['disk.tar.gz'], 'disk-converted.tar.gz'],
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
  [`${'x'.repeat(249)}.vmdk`, '.raw', [], `${'x'.repeat(244)}.raw`],
  [`${'x'.repeat(249)}.vmdk`, '.raw', [`${'x'.repeat(244)}.raw`], `${'x'.repeat(234)}-converted.raw`],
  [`${'ü'.repeat(121)}.vdi`, '.raw.gz', [], `${'ü'.repeat(120)}.raw.gz`],
  ['my.disk', '.raw', [], 'my.disk.raw'],
  ['disk', '.raw', [], 'disk.raw'],
  ['.qcow2', '.raw', [], 'disk.raw'],
  ['a/b:c*?.qcow2', '.raw', [], 'a_b_c__.raw'],
  ['\u001b[31m.qcow2', '.raw', [], '_[31m.raw'],
  ['a\u202eb\u200b.qcow2', '.raw', [], 'ab.raw'],
] as [string, string, string[], string][]) {
  test(`for ${JSON.stringify(image)}, ${extension}, '${suggested}' is suggested`, () => {
    expect(suggestName(image, extension, taken, [], '5MB')).toBe(suggested);
  });
}

// (image, names of its files, names that the queue has made, suggested name)
for (const [image, sources, made, suggested] of [
  ['disk.vhdx', [], ['disk.raw'], 'disk-1.raw'],
  ['disk.vhdx', [], ['disk.raw', 'DISK-1.raw'], 'disk-2.raw'],
  ['disk.vhdx', ['disk-1.raw'], ['disk.raw'], 'disk-2.raw'],
  ['disk.raw', ['disk.raw'], ['disk-converted.raw'], 'disk-converted-1.raw'],
  ['disk.raw', ['disk.raw'], ['disk.raw'], 'disk-converted.raw'],
  ['Gr\u00f6\u00dfe.vdi', [], ['Gro\u0308\u00dfe.raw'], 'Gr\u00f6\u00dfe-1.raw'],
  // A download gets another name than the suggested one.
  ['a~.vdi', [], ['a_.raw'], 'a~-1.raw'],
  [`${'x'.repeat(244)}.vdi`, [], [`${'x'.repeat(244)}.raw`], `${'x'.repeat(242)}-1.raw`],
] as const) {
  test(`after ${made}, '${suggested}' is suggested for ${image}`, () => {
    const files = made.map((file) => ({ file, size: '5MB' }));
    expect(suggestName(image, '.raw', [...sources], files, '5MB')).toBe(suggested);
  });
}

// (sizes of the disks that were made as disk.raw and disk-21GB.raw, size of this one, suggested name)
for (const [sizes, size, suggested] of [
  [[], 21e9, 'disk.raw'],
  [[21e9], 21e9, 'disk-1.raw'],
  [[2 ** 30], 21e9, 'disk-21GB.raw'],
  [[2 ** 30], 1.5e6, 'disk-1.5MB.raw'],
  [[2 ** 30], 2 ** 30 + 512, 'disk-1.raw'],
  [[2 ** 30], undefined, 'disk-1.raw'],
  [[2 ** 30, 21e9], 21e9, 'disk-21GB-1.raw'],
] as const) {
  test(`after disks of [${sizes}] bytes, '${suggested}' is suggested for one of ${size} bytes`, () => {
    const made = sizes.map((one, at) => ({ file: at === 0 ? 'disk.raw' : 'disk-21GB.raw', size: sizeInName(one) }));
    expect(suggestName('disk.vdi', '.raw', [], made, sizeInName(size))).toBe(suggested);
  });
}

test('the name of a snapshot is cut, and as safe as any other', () => {
  const long = stateName('disk.qcow2', 'x'.repeat(60_000));
  expect(plainName(long, '.raw')).toBe(`disk-${'x'.repeat(64)}.raw`);
  expect(plainName(stateName('disk.qcow2', 'be/fore: \u202e1'), '.raw')).toBe('disk-be_fore_ 1.raw');
});

test('the plain name may be that of the image', () => {
  expect(plainName('disk.raw', '.raw')).toBe('disk.raw');
  expect(plainName('disk-1.raw', '.vhd')).toBe('disk-1.vhd');
});

test('a free name is neither in the folder nor a name of the image', async () => {
  const file = fileHandle(fileOf('a'));
  const folder = folderHandle('picked', { 'disk-1.raw': file, 'disk-2.raw': folderHandle('disk-2.raw', {}) });
  expect(await freeNameIn(folder, 'disk.raw', ['Disk-3.raw'])).toBe('disk-4.raw');
  expect(await freeNameIn(folder, 'disk', [])).toBe('disk-1');
  expect(await freeNameIn(folder, '.raw', [])).toBe('.raw-1');
  expect(await freeNameIn(folder, `${'x'.repeat(244)}.raw`, [])).toBe(`${'x'.repeat(242)}-1.raw`);
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
    expect(nameProblem(name, english)?.text).toBe(problem);
  });
}

test('the name of a download is the one that the browser gives to it', () => {
  // (name, name of the download)
  for (const [name, input] of [
    ['disk.raw', 'disk.raw'],
    ['Größe und 名前.raw', 'Größe und 名前.raw'],
    ['.hidden', 'hidden'],
    [' ..  disk.raw', 'disk.raw'],
    ['a~1\u200b.raw', 'a_1_.raw'],
  ] as const) {
    expect(nameProblem(name, english)).toBeUndefined();
    expect(downloadName(name)).toBe(input);
  }
});

test('a problem that stays while more is typed keeps its ID, and another one has another', () => {
  const ids = ['x'.repeat(249), 'x'.repeat(250), 'a/', 'a/b', 'a:b'].map((name) => problemSoFar(name, english)?.id);
  expect(ids.map((id, at) => ids.indexOf(id) === at)).toEqual([true, false, true, false, true]);
});

test('while a name is typed, only a wrong beginning is a problem', () => {
  expect(['', 'disk.', 'disk '].map((name) => problemSoFar(name, english))).toEqual([undefined, undefined, undefined]);
  expect(problemSoFar('a/b', english)?.text).toBe(english.badName('/'));
  expect(problemSoFar('x'.repeat(304), english)?.text).toBe(english.longName(304, 248));
});
