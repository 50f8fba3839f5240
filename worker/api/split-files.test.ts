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
  ['paths', ['a/d.002', 'b\\d.001'], [['b\\d.001', 'a/d.002']]],
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
  [['xab', 'xac'], undefined],
  [['disk.raw', 'disk.rax'], undefined],
  [['disk.qcow2'], undefined],
])('the image among its parts: %o', ([names, part]) => {
  expect(partAmong(names)).toEqual(part);
});

test('the same part twice is refused', () => {
  expect(() => partAmong(['d.001', 'a/d.002', 'b/d.002'])).toThrow("'b/d.002' matches more than one of the files");
});
