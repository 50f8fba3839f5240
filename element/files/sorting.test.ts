// Sorting several files into images, their companions and others.

import { DecantError, type ErrorKind, type Input, type OpenOptions, type Reference } from 'decant';
import { expect, test, vi } from 'vitest';
import { imageOf, inputNamed } from '../element.test-support.js';
import { isSameName, mayBeRaw } from './bundle.js';
import { sort, sortImages, sortMore } from './sorting.js';

/** A file as the package recognises it. */
type Kind =
  | { refersTo?: string[]; parent?: string; id?: string }
  /** The configuration of a machine with these disks; of one with the same name, it is unclear which is meant. */
  | { disks: string[] }
  | 'damaged'
  | 'unknown';

let kinds: Record<string, Kind> = {};

/** The names of split files here, each with its parts in order. */
const SPLIT = [
  ['d.part1', 'd.part2'],
  ['d.raw.001', 'd.raw.002'],
  ['d.vmdk.001', 'd.vmdk.002', 'd.vmdk.003'],
  ['part.001', 'part.002'],
  ['v.001', 'v.002'],
  ['vm.001', 'vm.002'],
  ['xaa', 'xab'],
];

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  splitFiles: async (names: string[]) =>
    SPLIT.filter((parts) => parts.every((part) => names.includes(part))).map((parts) =>
      parts.map((part) => names.indexOf(part)),
    ),
  open: async (input: Input, { companions = [], disk }: OpenOptions) => {
    const kind = kinds[(input as File & { path: string }).path]!;
    if (kind === 'unknown') throw new DecantError('not-recognised', 'The file is not in a disk image format');
    if (typeof kind === 'object' && 'disks' in kind) {
      const names = companions.map((file) => (file as File).name);
      const failure = (kind: ErrorKind, code: string, fields: object) =>
        new DecantError(kind, 'No', { code, fields: { ...fields } });
      const unclear = kind.disks.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
      if (unclear) throw failure('usage', 'ambiguous-file', { file: unclear });
      const disks = kind.disks.map((name) => ({ name, size: 1, ...(names.includes(name) ? {} : { missing: true }) }));
      if (disk !== undefined) throw failure('usage', 'no-such-disk', { disks });
      if (disks.every(({ missing }) => missing)) throw failure('missing-file', 'missing-file', { disks });
      throw failure('usage', 'several-images', { disks });
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

/** `top < a, b` for each image with its companions, and the other files. A path is a folder and a name. */
async function sorted(files: Record<string, Kind>, by = sort) {
  kinds = files;
  const folders: Record<string, object> = {};
  const input = Object.keys(files).map((path) => {
    const [name, folder] = path.split('/').reverse();
    const one = inputNamed(name!, new Uint8Array(512));
    Object.assign(one.file, { path });
    if (folder === undefined) return one;
    folders[folder] ??= {};
    return { ...one, folder: folders[folder] };
  });
  const { bundles, skipped, held } = await by(input, new AbortController().signal);
  const namesOf = (input: { file: File }[]) => input.map(({ file }) => file.name);
  return {
    bundles: bundles.map(({ top, companions }) => [top.file.name, ...namesOf(companions).toSorted()].join(' < ')),
    skipped: namesOf(skipped),
    held: namesOf(held),
  };
}

const images = (...names: string[]): Record<string, Kind> => Object.fromEntries(names.map((name) => [name, {}]));

// (case, files, images with their companions, skipped files, images held by a machine)
for (const [what, files, bundles, skipped, held = []] of [
  ['a single file counts as an image, whatever it is', { 'paper.pdf': 'unknown' }, ['paper.pdf'], []],
  ['images in the order of their names, numbers by their values', images('b2', 'b10', 'a'), ['a', 'b2', 'b10'], []],
  ['a file that is not an image is skipped', { ...images('a'), notes: 'unknown' }, ['a'], ['notes']],
  ['a damaged image counts as an image', { a: 'damaged', b: {}, notes: 'unknown' }, ['a', 'b'], ['notes']],
  ['a raw disk beside an image', { ...images('a'), 'b.IMG': 'unknown' }, ['a', 'b.IMG'], []],
  [
    'if no file is recognised, all that may be images count',
    { one: 'unknown', 'two.txt': 'unknown' },
    ['one'],
    ['two.txt'],
  ],
  ['nothing that may be an image', { 'a.txt': 'unknown', 'b.pdf': 'unknown' }, [], ['a.txt', 'b.pdf']],
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
      'vm.vmx': { disks: ['vm-a', 'vm-b'] },
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
    { 'vm-now': { refersTo: ['base'] }, past: { refersTo: ['base'] }, base: {}, 'vm.OVF': { disks: ['vm-now'] } },
    ['vm.OVF < base < past < vm-now'],
    [],
  ],
  ['a configuration without disks', { 'vm.vbox': 'unknown', notes: 'unknown', c: {} }, ['c'], ['vm.vbox', 'notes']],
  ['a machine with a damaged disk', { 'vm.vmx': { disks: ['a'] }, a: 'damaged', c: {} }, ['vm.vmx < a', 'c'], []],
  [
    'a machine without its disk: its base is not opened instead',
    {
      'vm.vbox': { disks: ['now'] },
      'vm.vbox-prev': { disks: ['base'] },
      base: {},
      'part.001': {},
      'part.002': 'unknown',
      notes: 'unknown',
    },
    ['vm.vbox < base < notes < part.001 < part.002 < vm.vbox-prev'],
    [],
    ['base', 'part.001'],
  ],
  [
    'a machine that lacks one of two disks',
    { 'vm.vbox': { disks: ['now', 'second'] }, base: {}, second: { refersTo: ['first'] }, first: {} },
    ['vm.vbox < base < first < second'],
    [],
    ['base'],
  ],
  ['a disk that is unclear', { 'vm.vmx': { disks: ['a'] }, 'one/a': {}, 'two/a': {} }, ['vm.vmx < a < a'], []],
  [
    'two machines in their folders, and what lies beside them',
    {
      'one/vm.vmx': { disks: ['vm.vmdk'] },
      'one/vm.vmdk': {},
      'two/vm.vmx': { disks: ['vm.vmdk', 'now.vmdk'] },
      'two/vm.vmdk': { refersTo: ['base'] },
      'two/base': {},
      'two/old.vmdk': {},
      'three/x.vmx': 'unknown',
      'three/notes': 'unknown',
      'three/y': {},
    },
    ['vm.vmx < vm.vmdk', 'vm.vmx < base < old.vmdk < vm.vmdk', 'y'],
    ['x.vmx', 'notes'],
    ['old.vmdk'],
  ],
  [
    'two machines, not in folders',
    { 'a.vmx': { disks: ['a'] }, 'b.vmx': { disks: ['b'] }, a: {}, b: {}, c: {} },
    ['a.vmx < a < b', 'b.vmx < a < b', 'c'],
    [],
  ],
  ['an image that refers to its own name', { a: { refersTo: ['elsewhere/a'] }, b: {} }, ['a', 'b'], []],
  [
    'images in a circle',
    { one: { refersTo: ['two'] }, two: { refersTo: ['one'] }, c: {} },
    ['c', 'one < two', 'two < one'],
    [],
  ],
] as [string, Record<string, Kind>, string[], string[], string[]?][]) {
  test(`sorts: ${what}`, async () => {
    expect(await sorted(files)).toEqual({ bundles, skipped, held });
  });
}

test('while an image is open, a configuration alone counts as an image', async () => {
  const files: Record<string, Kind> = { 'vm.vmx': { disks: ['a'] } };
  expect(await sorted(files, sortMore)).toEqual({ bundles: ['vm.vmx'], skipped: [], held: [] });
});

test('while an image needs files, only recognised images count as images', async () => {
  const files: Record<string, Kind> = { 'disk.img': 'unknown', notes: 'unknown', a: 'damaged' };
  expect(await sorted(files, sortImages)).toEqual({
    bundles: ['a'],
    skipped: ['disk.img', 'notes'],
    held: [],
  });
  expect(await sorted({ notes: 'unknown' }, sortImages)).toEqual({ bundles: [], skipped: ['notes'], held: [] });
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
    expect(mayBeRaw(inputNamed(name, content))).toBe(isIt);
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
