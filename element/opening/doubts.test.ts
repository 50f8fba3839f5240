// Doubts about a file that is given for a file that an image names.

import { DecantError, type Info, type Input, type Layer, type Role } from 'decant';
import { expect, test, vi } from 'vitest';
import { infoOf, layerOf } from '../../worker/api/info.test-support.js';
import { imageOf, inputNamed } from '../element.test-support.js';
import type { InputFile } from '../files/input-file.js';
import { smallerLayers } from '../steps/warnings.js';
import { english } from '../texts/english/index.js';
import { doubtsAbout } from './doubts.js';

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: async (input: Input) => {
    const { name } = input as File;
    if (!name.endsWith('.qcow2')) throw new DecantError('not-recognised', 'The file is not in a disk image format');
    return imageOf({ format: 'qcow2' });
  },
}));

const SECTORS = new Uint8Array(1024);
const top = inputNamed('top.qcow2', 'the image');

/** Returns the doubts about `input` for the name `wanted` in an image with `layers`. */
const doubts = (
  input: InputFile,
  wanted: string,
  layers: Layer[],
  more: Partial<Info> = {},
  role: Role = 'backing file',
) =>
  doubtsAbout(
    {
      need: { kind: 'missing-file', role, name: wanted, fileName: wanted.split('/').at(-1)!, of: 'top.qcow2' },
      input,
      confirmed: false,
    },
    top,
    imageOf({ layers, ...more }),
    english,
    new AbortController().signal,
  );

const above = layerOf('top.qcow2');

test('a file with the right name and format is not in doubt', async () => {
  const layers = [above, layerOf('base.qcow2')];
  expect(await doubts(inputNamed('base.qcow2'), 'base.qcow2', layers)).toEqual([]);
  expect(await doubts(inputNamed('base.qcow2'), '/images/base.qcow2', layers)).toEqual([]);
});

test('another name is a doubt, except for a parent, which is found by its identity', async () => {
  const layers = [above, layerOf('other.qcow2')];
  const named = english.otherName('other.qcow2', 'base.qcow2');
  expect(await doubts(inputNamed('other.qcow2'), 'base.qcow2', layers)).toEqual([named]);
  expect(await doubts(inputNamed('other.qcow2'), '{1234}', layers, {}, 'parent')).toEqual([]);
});

test('the image itself is a doubt', async () => {
  const same = { file: new File(['the image'], 'top.qcow2', { lastModified: 0 }) };
  expect(await doubts(same, 'top.qcow2', [above, layerOf('top.qcow2')])).toEqual([
    english.probablyTheImage('top.qcow2'),
  ]);
});

// (case, file, its layer, doubts)
for (const [what, input, layer, expected] of [
  ['a raw disk', inputNamed('base.raw', SECTORS), { format: 'raw' }, []],
  [
    'an image as a raw disk',
    inputNamed('base.qcow2'),
    { format: 'raw' },
    [english.notRaw('base.qcow2', 'qcow2', 'top.qcow2')],
  ],
  [
    'a size that is not a multiple of a sector',
    inputNamed('base.raw', 'odd'),
    { format: 'raw' },
    [english.noDisk('base.raw')],
  ],
  [
    'a guessed format',
    inputNamed('base.raw', SECTORS),
    { format: 'raw', guessed: true },
    [english.guessedRaw('base.raw')],
  ],
  ['a smaller disk alone', inputNamed('base.qcow2'), { virtualSize: 3e6 }, []],
  [
    'a smaller disk with another doubt',
    inputNamed('base.raw', 'odd'),
    { format: 'raw', virtualSize: 3e6 },
    [english.noDisk('base.raw'), english.smallerLayer('base.raw', 3e6, 'top.qcow2', 5e6)],
  ],
] as [string, InputFile, Partial<Layer>, string[]][]) {
  test(`doubts about a file: ${what}`, async () => {
    const { name } = input.file;
    expect(await doubts(input, name, [above, layerOf(name, layer)])).toEqual(expected);
  });
}

test('a raw data file that is shorter than the disk is a doubt', async () => {
  const specific = { 'data-file-raw': true };
  const short = [english.shortDataFile('data.raw', 1024, 5e6)];
  expect(await doubts(inputNamed('data.raw', SECTORS), 'data.raw', [above], { specific }, 'data file')).toEqual(short);
  expect(await doubts(inputNamed('data.raw', SECTORS), 'data.raw', [above], {}, 'data file')).toEqual([]);
  const long = await doubts(
    inputNamed('data.raw', SECTORS),
    'data.raw',
    [above],
    { specific, virtualSize: 1024 },
    'data file',
  );
  expect(long).toEqual([]);
});

test('each layer that is smaller than the one above is reported', () => {
  const layers = [layerOf('a', { virtualSize: 3e6 }), layerOf('b'), layerOf('c', { virtualSize: 2e6 })];
  expect(smallerLayers(infoOf({ layers }), english)).toEqual([english.smallerLayer('c', 2e6, 'b', 5e6)]);
  expect(smallerLayers(infoOf(), english)).toEqual([]);
});
