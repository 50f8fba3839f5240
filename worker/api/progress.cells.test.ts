import { expect, test } from 'vitest';
import { Cells } from './progress.js';

const done = (cells: Cells) => [...cells.done()];
const count = (cells: Cells) => done(cells).filter((cell) => cell === 1).length;

test.each([
  [0, 0],
  [1, 1],
  [4095, 4095],
  [4096, 4096],
  // Two bytes each, the last one with one.
  [4097, 2049],
  [8192, 4096],
  [8193, 2731],
  [100 * 2 ** 30, 4096],
])('a disk of %i bytes has %i cells', (total, length) => {
  expect(new Cells(total).done()).toHaveLength(length);
});

test('a cell is finished with its last byte, in any order', () => {
  // Three bytes each: the last one has one.
  const cells = new Cells(2 * 4096 + 2);
  cells.add(1, 3);
  expect(count(cells)).toBe(0);
  cells.add(3, 5);
  expect(count(cells)).toBe(0);
  cells.add(0, 1);
  expect(done(cells).slice(0, 3)).toEqual([1, 0, 0]);
  cells.add(5, 9);
  expect(done(cells).slice(0, 4)).toEqual([1, 1, 1, 0]);
});

test('a short last cell is finished with fewer bytes', () => {
  const total = 2 * 4096 + 2;
  const cells = new Cells(total);
  cells.add(total - 2, total - 1);
  expect(cells.done().at(-1)).toBe(0);
  cells.add(total - 1, total);
  expect(cells.done().at(-1)).toBe(1);
  expect(count(cells)).toBe(1);
});

test('the whole disk finishes all cells, an empty part none', () => {
  const cells = new Cells(2 ** 40);
  cells.add(5, 5);
  expect(count(cells)).toBe(0);
  cells.add(0, 2 ** 40);
  expect(count(cells)).toBe(4096);
});
