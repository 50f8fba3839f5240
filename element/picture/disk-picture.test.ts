// The cells of a disk's picture, and the parts of the disk that they show.

import type { Extent } from 'decant';
import { expect, test } from 'vitest';
import { DiskPicture } from './disk-picture.js';
import { COLOURED_LAYERS, colourOf, gridOf } from './picture-view.js';

const extent = (start: number, length: number, kind: Extent['kind'], more: Partial<Extent> = {}): Extent => ({
  ...{ start, length, kind, depth: 0, compressed: false, encrypted: false },
  ...more,
});
const contents = (picture: DiskPicture) => Array.from({ length: picture.count }, (_, cell) => picture.contentOf(cell));

test('a disk has at most 4,096 cells, each of whole bytes', () => {
  for (const [size, count] of [
    [1, 1],
    [4096, 4096],
    [4097, 2049],
    [2 ** 53 - 512, 4096],
  ] as const) {
    expect(new DiskPicture(size, ['disk']).count).toBe(count);
  }
});

test('a cell shows its first content in the order lost, data, compressed, empty', () => {
  // Cells of two bytes.
  const picture = new DiskPicture(8192, ['disk']);
  picture.add(extent(0, 3, 'data', { compressed: true }));
  picture.add(extent(3, 1, 'data'));
  picture.add(extent(4, 3, 'zero'));
  picture.add(extent(7, 1, 'lost'));
  picture.add(extent(8, 2, 'unallocated'));
  expect(contents(picture).slice(0, 6)).toEqual(['compressed', 'data', 'empty', 'lost', 'empty', 'unknown']);
  expect(picture.legend.contents).toEqual(new Set(['compressed', 'data', 'empty', 'lost', 'unknown']));
});

test('a range that a conversion could not read is lost', () => {
  // Cells of two bytes.
  const picture = new DiskPicture(8192, ['disk']);
  picture.add(extent(0, 8192, 'data', { compressed: true }));
  picture.lose({ start: 3, length: 2, code: 'damaged', reason: 'it is damaged' });
  expect(contents(picture).slice(0, 4)).toEqual(['compressed', 'lost', 'lost', 'compressed']);
  expect(picture.legend.contents).toEqual(new Set(['compressed', 'lost']));
});

test('a cell belongs to the layer with its longest run of data', () => {
  const picture = new DiskPicture(4096 * 100, ['top', 'middle', 'base']);
  picture.add(extent(0, 30, 'data'));
  picture.add(extent(30, 50, 'data', { depth: 2 }));
  picture.add(extent(80, 30, 'data', { depth: 1 }));
  expect([picture.layerOf(0), picture.layerOf(1), picture.layerOf(2)]).toEqual([2, 1, 0]);
  expect(picture.legend.layers).toEqual(new Set([2, 1]));
});

for (const [content, layer, colour] of [
  ['lost', 0, 'lost'],
  ['empty', 0, 'empty'],
  ['unknown', 3, 'empty'],
  ['data', 1, 'layer-1'],
  ['compressed', 0, 'layer-0'],
  ['data', COLOURED_LAYERS + 4, `layer-${COLOURED_LAYERS - 1}`],
] as const) {
  test(`the colour of ${content} in layer ${layer} is ${colour}`, () => expect(colourOf(content, layer)).toBe(colour));
}

test.each([
  // (width in pixels, side of a cell, cells in a row)
  [1148, 9, 127],
  [574, 4, 143],
  [270, 3, 90],
  [2, 3, 1],
])('a picture of %i pixels has whole cells, as wide as there is room', (width, side, columns) => {
  expect(gridOf(width)).toEqual({ side, columns });
});
