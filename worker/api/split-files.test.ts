// Names of the parts of split files.

import { expect, test } from 'vitest';
import { findSplitFiles, partAmong } from './split-files.js';

test.for<[what: string, names: string[], parts: string[][]]>([
  ['HJSplit', ['disk.raw.002', 'disk.raw.001', 'disk.raw.003'], [['disk.raw.001', 'disk.raw.002', 'disk.raw.003']]],
  ['OVF', ['d.vmdk.000000001', 'd.vmdk.000000000'], [['d.vmdk.000000000', 'd.vmdk.000000001']]],
  ['more digits', ['d.1000', 'd.001', 'd.999'], [['d.001', 'd.999', 'd.1000']]],
  ['.part', ['d.img.part10', 'd.img.part2', 'd.img.part1'], [['d.img.part1', 'd.img.part2', 'd.img.part10']]],
  ['.Part', ['d.Part02', 'd.Part01'], [['d.Part01', 'd.Part02']]],
  ['split', ['xab', 'xaa', 'xba', 'xaz'], [['xaa', 'xab', 'xaz', 'xba']]],
  ['split -d', ['x01', 'x00'], [['x00', 'x01']]],
  [
    'split with a prefix',
    ['d.img-ab', 'd.img-aa', 'd.imgaa', 'd.imgab'],
    [
      ['d.img-aa', 'd.img-ab'],
      ['d.imgaa', 'd.imgab'],
    ],
  ],
  ['many', ['xzaab', 'xzaaa', 'xyz', 'xaa'], [['xaa', 'xyz', 'xzaaa', 'xzaab']]],
  ['a prefix with z', ['d.xzaa', 'd.xzab'], [['d.xzaa', 'd.xzab']]],
  ['paths', ['a/d.002', 'a/d.001'], [['a/d.001', 'a/d.002']]],
  [
    'folders',
    ['x/a.001', 'x/a.002', 'y\\a.001', 'y\\a.002'],
    [
      ['x/a.001', 'x/a.002'],
      ['y\\a.001', 'y\\a.002'],
    ],
  ],
  ['one part in each folder', ['a/d.002', 'b/d.001'], []],
  ['split -a 3', ['xaab', 'xaaa', 'xaba', 'xbaa'], [['xaaa', 'xaab', 'xaba', 'xbaa']]],
  [
    'prefixes that end in a and b',
    ['sdaaa', 'sdbaa', 'sdaab', 'sdbab'],
    [
      ['sdaaa', 'sdaab'],
      ['sdbaa', 'sdbab'],
    ],
  ],
  ['one file or two, without the first', ['sdbab', 'sdbaa', 'sdaab'], [['sdaab', 'sdbaa', 'sdbab']]],
  ['one file or two', ['sdaaa', 'sdbaa', 'sdaac', 'sdbab'], [['sdaaa', 'sdaac', 'sdbaa', 'sdbab']]],
  ['one file or two, the second without the first', ['sdaaa', 'sdaab', 'sdbab'], [['sdaaa', 'sdaab', 'sdbab']]],
  ['similar names', ['sdbaa', 'sdbab', 'sdxyz', 'sdb'], [['sdbaa', 'sdbab']]],
  ['a prefix that ends in a', ['dataaa', 'dataab', 'databa'], [['dataaa', 'dataab', 'databa']]],
  ['split -x', ['x00', 'x0a', 'x09', 'x10'], [['x00', 'x09', 'x0a', 'x10']]],
  ['names that are hexadecimal', ['d.00', 'd.01', 'd.db', 'd.ba'], [['d.00', 'd.01']]],
  ['--additional-suffix', ['xab.img', 'xaa.img', 'xaa.raw', 'xab'], [['xaa.img', 'xab.img']]],
  ['-d --additional-suffix', ['x01.img', 'x00.img', 'd.00.img', 'd.01.img'], [['x00.img', 'x01.img']]],
  [
    'more digits and fewer',
    ['d.001', 'd.01', 'd.002', 'd.02'],
    [
      ['d.001', 'd.002'],
      ['d.01', 'd.02'],
    ],
  ],
  [
    'two files',
    ['a.001', 'b.001', 'a.002', 'b.002'],
    [
      ['a.001', 'a.002'],
      ['b.001', 'b.002'],
    ],
  ],
  ['one part', ['disk.raw.001', 'disk.raw', 'xaa'], []],
  ['without the first', ['d.002', 'd.003', 'xab', 'xac'], []],
  [
    'extents of VMDK',
    ['d-s001.vmdk', 'd-s002.vmdk', 'd-f001.vmdk', 'd-f002.vmdk', 'd-000001.vmdk', 'd-000002.vmdk'],
    [],
  ],
  ['disks with numbers', ['vm1', 'vm2', 'disk01', 'disk02', 'd.1', 'd.2', 'disk-1.raw', 'disk-2.raw'], []],
])('parts: %s', ([, names, parts]) => {
  expect(findSplitFiles(names).map((file) => file.map((at) => names[at]))).toEqual(parts);
});

const first = (name: string, isThere: boolean) => ({ next: [], first: { name, isThere } });

test.for<[names: string[], part: ReturnType<typeof partAmong>]>([
  [['d.001', 'base', 'd.003', 'd.002'], { next: [3, 2] }],
  [['x/d.001', 'y/d.002'], { next: [1] }],
  [['d.001'], { next: [] }],
  [['d.001', 'd.004', 'd.003'], { next: [2, 1], missing: 'd.002' }],
  [['d.009', 'd.001', 'd.010'], first('d.001', true)],
  [['d.002', 'd.003'], first('d.001', false)],
  [['d.000000003'], first('d.000000000', false)],
  [['d.part3'], first('d.part1', false)],
  [['xaa', 'xac'], { next: [1], missing: 'xab' }],
  [['xyz', 'xaa'], first('xaa', true)],
  [
    ['xaa', 'xba', ...[...'bcdefghijklmnopqrstuvwxyz'].map((letter) => `xa${letter}`), 'xbc'],
    {
      next: [...Array.from({ length: 25 }, (_, at) => at + 2), 1, 27],
      missing: 'xbb',
    },
  ],
  [['d.part9', 'd.part1', 'd.part10'], first('d.part1', true)],
  [
    ['d.001', ...Array.from({ length: 8 }, (_, at) => `d.00${at + 2}`), 'd.011'],
    { next: [1, 2, 3, 4, 5, 6, 7, 8, 9], missing: 'd.010' },
  ],
  [['sdaaa', 'sdaac', 'sdbaa', 'sdbab'], { next: [1, 2, 3], missing: 'sdaab' }],
  [['sdbaa', 'sdaac', 'sdaaa', 'sdbab'], { next: [], other: 2 }],
  [['sdaac', 'sdbaa', 'sdaaa', 'sdbab'], { next: [], other: 1 }],
  [['sdbaa', 'sdaab'], { next: [], other: 1 }],
  [['sdaab', 'sdbaa'], { next: [], other: 1 }],
  [['sdaaa', 'sdbab', 'sdaab'], { next: [], other: 1 }],
  [['sdbaa', 'sdaaa', 'sdaab', 'sdbab'], { next: [3] }],
  [['xab', 'xac'], undefined],
  [['disk.raw', 'disk.rax'], undefined],
  [['disk.qcow2'], undefined],
])('the image among its parts: %o', ([names, part]) => {
  expect(partAmong(names)).toEqual(part);
});

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];
const texts = (alphabet: string[], width: number): string[] =>
  width === 0 ? [''] : alphabet.flatMap((letter) => texts(alphabet, width - 1).map((text) => letter + text));
const DIGITS = [...'0123456789'];
const HEX = [...DIGITS, ...'abcdef'];

// `missing` of all names are not there.
test.for<[what: string, names: string[], missing: string[], expected: string | undefined]>([
  ['letters', texts(LETTERS, 2), [], undefined],
  ['letters with a gap', texts(LETTERS, 2), ['zb'], 'zb'],
  ['letters with a gap where they may widen', texts(LETTERS, 2), ['za'], 'za'],
  ['three letters', texts(LETTERS, 3).slice(0, 1000), [], undefined],
  ['three letters with a gap', texts(LETTERS, 3).slice(0, 1000), ['bac'], 'bac'],
  ['three letters with a gap at b', texts(LETTERS, 3).slice(0, 1000), ['baa'], 'baa'],
  ['three letters with a gap of 26', texts(LETTERS, 3).slice(0, 1000), texts(LETTERS, 1).map((z) => `az${z}`), 'aza'],
  ['three letters with an early gap', texts(LETTERS, 3).slice(0, 1000), ['aac'], 'aac'],
  ['digits', texts(DIGITS, 2), [], undefined],
  ['digits with a gap where they may widen', texts(DIGITS, 2), ['90'], '90'],
  ['wider digits with a gap', [...texts(DIGITS, 2).slice(0, 90), '9000', '9001', '9002'], ['9001'], '9001'],
  ['wider digits with a gap before', [...texts(DIGITS, 2).slice(0, 90), '9000', '9001'], ['9000'], '9000'],
  ['hexadecimal', texts(HEX, 2), [], undefined],
  ['hexadecimal with a gap', texts(HEX, 2).slice(0, 40), ['0a'], '0a'],
  ['hexadecimal with a gap of letters', texts(HEX, 2).slice(0, 30), ['0a', '0b', '0c', '0d', '0e', '0f'], '0a'],
  ['wider hexadecimal with a gap', [...texts(HEX, 2).slice(0, 240), 'f000', 'f001', 'f002'], ['f001'], 'f001'],
])('gaps: %s', ([, all, missing, expected]) => {
  const names = all.filter((text) => !missing.includes(text)).map((text) => `x${text}`);
  const part = partAmong(names);
  expect(part?.missing).toBe(expected === undefined ? undefined : `x${expected}`);
  if (expected === undefined) expect(part?.next).toEqual(names.slice(1).map((_, at) => at + 1));
});

test('the same part twice is refused', () => {
  expect(() => partAmong(['d.001', 'a/d.002', 'b/d.002'])).toThrow("'b/d.002' matches more than one of the files");
});
