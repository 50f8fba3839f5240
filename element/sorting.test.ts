// Sorting several files into images, their companions and others.

import { DecantError, type Input, type OpenOptions, type Reference } from 'decant';
import { expect, test, vi } from 'vitest';
import { givenOf, imageOf } from '../e2e/support/units/element.js';
import { isSameName, mayBeRaw, sort, sortImages } from './sorting.js';

/** A file as the package recognises it. */
type Kind = { refersTo?: string[]; parent?: string; id?: string } | 'damaged' | 'unknown' | 'machine';

let kinds: Record<string, Kind> = {};

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: async (input: Input, { companions = [] }: OpenOptions) => {
    const kind = kinds[(input as File).name]!;
    if (kind === 'unknown') throw new DecantError('not-recognised', 'The file is not in a disk image format');
    if (kind === 'machine') {
      const names = companions.map((file) => (file as File).name);
      const disks = names.filter((name) => name.startsWith('vm-')).map((name) => ({ name, size: 1 }));
      if (disks.length > 1) throw new DecantError('usage', 'Choose', { code: 'several-images', fields: { disks } });
      if (disks.length === 0) throw new DecantError('missing-file', 'Its disk is missing');
      return imageOf({}, { members: disks });
    }
    if (kind === 'damaged') throw new DecantError('corrupt', 'The image is truncated');
    const { refersTo = [], parent, id } = kind;
    // Images in one format are not parts.
    const parts = companions.filter((file) => kinds[(file as File).name] === 'unknown');
    const fileSize = [input, ...parts].reduce((sum, file) => sum + (file as File).size, 0);
    const files = refersTo.map(
      (name): Reference => ({ role: 'backing file', name, fileName: name.split(/[/\\]/).at(-1)! }),
    );
    const parents: Reference[] =
      parent === undefined ? [] : [{ role: 'parent', name: parent, fileName: parent, identity: { id: parent } }];
    return imageOf({
      references: [...files, ...parents],
      identities: id === undefined ? [] : [{ id }],
      fileSize,
    });
  },
}));

/** `top < a, b` for each image with its companions, and the skipped files. */
async function sorted(files: Record<string, Kind>, by = sort): Promise<{ bundles: string[]; skipped: string[] }> {
  kinds = files;
  const { bundles, skipped } = await by(
    Object.keys(files).map((name) => givenOf(name)),
    new AbortController().signal,
  );
  const namesOf = (given: { file: File }[]) => given.map(({ file }) => file.name);
  return {
    bundles: bundles.map(({ top, companions }) => [top.file.name, ...namesOf(companions).toSorted()].join(' < ')),
    skipped: namesOf(skipped),
  };
}

const images = (...names: string[]): Record<string, Kind> => Object.fromEntries(names.map((name) => [name, {}]));

// (case, files, images with their companions, skipped files)
for (const [what, files, bundles, skipped] of [
  ['a single file counts as an image, whatever it is', { 'paper.pdf': 'unknown' }, ['paper.pdf'], []],
  ['images in the order of their names, numbers by their values', images('b2', 'b10', 'a'), ['a', 'b2', 'b10'], []],
  ['a file that is not an image is skipped', { ...images('a'), notes: 'unknown' }, ['a'], ['notes']],
  ['a damaged image counts as an image', { a: 'damaged', b: {}, notes: 'unknown' }, ['a', 'b'], ['notes']],
  ['a raw disk beside an image', { ...images('a'), 'b.IMG': 'unknown' }, ['a', 'b.IMG'], []],
  ['if no file is an image, all count as images', { one: 'unknown', two: 'unknown' }, ['one', 'two'], []],
  [
    'a chain, and an image beside it',
    { base: {}, top: { refersTo: ['middle'] }, middle: { refersTo: ['/images/base'] }, other: {} },
    ['other', 'top < base < middle'],
    [],
  ],
  ['a path of Windows', { top: { refersTo: ['C:\\disks\\base.vhd'] }, 'base.vhd': 'unknown' }, ['top < base.vhd'], []],
  ['two images over one base', { a: { refersTo: ['c'] }, b: { refersTo: ['c'] }, c: {} }, ['a < c', 'b < c'], []],
  [
    'a raw base is not a separate image',
    { top: { refersTo: ['base.raw'] }, 'base.raw': 'unknown' },
    ['top < base.raw'],
    [],
  ],
  ['a parent that is found by its ID', { 'c.vdi': { parent: '1234' }, 'x.vdi': { id: '1234' } }, ['c.vdi < x.vdi'], []],
  [
    'a chain without its middle comes before its base',
    { base: {}, other: {}, top: { refersTo: ['middle'] } },
    ['top', 'base', 'other'],
    [],
  ],
  [
    'an image whose base needs a missing parent comes first',
    { a: {}, base: { parent: '12' }, top: { refersTo: ['base'] } },
    ['top < base', 'a'],
    [],
  ],
  [
    'parts are one image',
    { 'd.vmdk.002': 'unknown', 'd.vmdk.001': {}, 'd.vmdk.003': 'unknown', a: {} },
    ['a', 'd.vmdk.001 < d.vmdk.002 < d.vmdk.003'],
    [],
  ],
  [
    'parts of a raw disk beside an image',
    { ...images('a'), 'd.raw.001': 'unknown', 'd.raw.002': 'unknown', 'v.001': 'unknown', 'v.002': 'unknown' },
    ['a', 'd.raw.001 < d.raw.002'],
    ['v.001'],
  ],
  ['parts of a raw disk', { xab: 'unknown', xaa: 'unknown' }, ['xaa < xab'], []],
  ['parts of a cut image', { xab: 'unknown', xaa: 'damaged' }, ['xaa < xab'], []],
  [
    'parts that need a base',
    { 'base.qcow2': {}, 'd.part1': { refersTo: ['base.qcow2'] }, 'd.part2': 'unknown' },
    ['d.part1 < base.qcow2 < d.part2'],
    [],
  ],
  ['overlays with numbers', { 'vm.001': {}, 'vm.002': { refersTo: ['vm.001'] } }, ['vm.002 < vm.001'], []],
  [
    'a machine, and an image beside it',
    {
      'vm-a': { refersTo: ['old'] },
      'vm.vmx': 'machine',
      nvram: 'unknown',
      'vm-b': {},
      old: {},
      x: { refersTo: ['y'] },
      y: {},
    },
    ['vm.vmx < nvram < old < vm-a < vm-b', 'x < y'],
    [],
  ],
  [
    'a machine with another state of its disk',
    { 'vm-now': { refersTo: ['base'] }, past: { refersTo: ['base'] }, base: {}, 'vm.OVF': 'machine' },
    ['vm.OVF < base < past < vm-now'],
    [],
  ],
  [
    'a machine without disks',
    { 'vm.vbox': 'machine', notes: 'unknown', 'x.img': 'unknown' },
    ['vm.vbox', 'x.img'],
    ['notes'],
  ],
  ['two machines', { 'a.vmx': 'unknown', 'b.vmx': 'unknown', c: {} }, ['c'], ['a.vmx', 'b.vmx']],
  ['an image that refers to its own name', { a: { refersTo: ['elsewhere/a'] }, b: {} }, ['a', 'b'], []],
  [
    'images in a circle',
    { one: { refersTo: ['two'] }, two: { refersTo: ['one'] }, c: {} },
    ['c', 'one < two', 'two < one'],
    [],
  ],
] as [string, Record<string, Kind>, string[], string[]][]) {
  test(`sorts: ${what}`, async () => {
    expect(await sorted(files)).toEqual({ bundles, skipped });
  });
}

test('while an image needs files, only recognised images count as images', async () => {
  const files: Record<string, Kind> = { 'disk.img': 'unknown', notes: 'unknown', a: 'damaged' };
  expect(await sorted(files, sortImages)).toEqual({ bundles: ['a'], skipped: ['disk.img', 'notes'] });
  expect(await sorted({ notes: 'unknown' }, sortImages)).toEqual({ bundles: [], skipped: ['notes'] });
});

for (const [name, content, isIt] of [
  ['disk.raw', 'x', true],
  ['disk.IMG', 'x', true],
  ['cd.iso', 'x', true],
  ['disk.img', '', false],
  ['disk.img.txt', 'x', false],
  ['raw', 'x', false],
] as const) {
  test(`${name} of ${content.length} bytes ${isIt ? 'may' : 'cannot'} be a raw disk`, () => {
    expect(mayBeRaw(givenOf(name, content))).toBe(isIt);
  });
}

for (const [one, other, isSame] of [
  ['base.qcow2', 'base.qcow2', true],
  ['Base.QCOW2', 'base.qcow2', true],
  ['Gro\u0308ße.raw', 'größe.raw', true],
  ['base1.raw', 'base2.raw', false],
] as const) {
  test(`'${one}' and '${other}'`, () => expect(isSameName(one, other)).toBe(isSame));
}
