// The cells of a disk's picture, and the parts of the disk that they show.

import type { Extent } from 'decant';
import { expect, test } from 'vitest';
import { DiskPicture } from './disk-picture.js';
import { COLOURED_LAYERS, colourOf, gridOf, rangeOf } from './painter.js';

const extent = (offset: number, length: number, kind: Extent['kind'], more: Partial<Extent> = {}): Extent => ({
  ...{ offset, length, kind, depth: 0, compressed: false, encrypted: false },
  ...more,
});
/** The content of the first `count` cells, of two bytes each. */
const contents = (picture: DiskPicture, count: number) =>
  Array.from({ length: count }, (_, cell) => picture.summary(2 * cell, 2 * cell + 2).content);

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
  expect(contents(picture, 6)).toEqual(['compressed', 'data', 'empty', 'lost', 'empty', 'unknown']);
  expect(picture.legend.contents).toEqual(new Set(['compressed', 'data', 'empty', 'lost', 'unknown']));
});

test('a range that a conversion could not read is lost', () => {
  // Cells of two bytes.
  const picture = new DiskPicture(8192, ['disk']);
  picture.add(extent(0, 8192, 'data', { compressed: true }));
  picture.lose({ offset: 3, length: 2, code: 'damaged', message: 'it is damaged' });
  expect(contents(picture, 4)).toEqual(['compressed', 'lost', 'lost', 'compressed']);
  expect(picture.legend.contents).toEqual(new Set(['compressed', 'lost']));
});

test('a cell belongs to the layer with its longest run of data', () => {
  const picture = new DiskPicture(4096 * 100, ['top', 'middle', 'base']);
  picture.add(extent(0, 30, 'data'));
  picture.add(extent(30, 50, 'data', { depth: 2 }));
  picture.add(extent(80, 30, 'data', { depth: 1 }));
  const layers = [0, 100, 200].map((start) => picture.summary(start, start + 100).layer);
  expect(layers).toEqual([2, 1, 0]);
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

test('several cells show their first content, most of their layers, and what is done of them', () => {
  // Cells of two bytes.
  const picture = new DiskPicture(8192, ['top', 'base']);
  picture.add(extent(0, 2, 'data', { compressed: true }));
  picture.add(extent(2, 4, 'data', { compressed: true, depth: 1 }));
  picture.add(extent(6, 2, 'zero'));
  expect(picture.summary(0, 8)).toEqual({ content: 'compressed', layer: 1, done: 1 });
  expect(picture.shareOfData(0, 8)).toBe(0.75);
  // Cells after the end of the report are not converted.
  picture.done = Uint8Array.of(1, 0, 1);
  expect(picture.summary(0, 8).done).toBe(0.5);
  expect(picture.summary(8, 16)).toEqual({ content: 'unknown', layer: 0, done: 0 });
  // A part of a cell is that cell; the end of the disk belongs to the last one.
  expect(picture.summary(1, 1).content).toBe('compressed');
  expect(picture.summary(8192, 8192).content).toBe('unknown');
});

test.each([
  // (width and height in CSS pixels, pixels for one, columns, rows, pitch, width)
  [718, 178, 1, 72, 18, 10, 718],
  [318, 174, 1, 40, 22, 8, 318],
  [318, 174, 2, 40, 22, 16, 636],
  [448, 46, 1.5, 56, 6, 12, 672],
  [2, 2, 1, 1, 1, 8, 2],
])('in %i x %i pixels, %f times as fine, cells fill the width', (width, height, ratio, columns, rows, pitch, whole) => {
  expect(gridOf(width, height, ratio)).toMatchObject({ columns, rows, pitch, width: whole });
});

test('the cells of a picture have all bytes of the disk', () => {
  for (const size of [1, 1000, 2 ** 53 - 512]) {
    const ranges = Array.from({ length: 880 }, (_, at) => rangeOf(at, 880, size));
    expect(ranges[0]![0]).toBe(0);
    expect(ranges.at(-1)![1]).toBe(size);
    expect(ranges.slice(1).every(([start], at) => start === ranges[at]![1])).toBe(true);
  }
});
