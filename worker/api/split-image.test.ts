// The sizes of the parts of a split file.

import { expect, test } from 'vitest';
import { wrongSize } from './split-image.js';

test.for<[what: string, sizes: number[], wrong: number]>([
  ['equal parts', [9, 9, 9], -1],
  ['a smaller last part', [9, 9, 1], -1],
  ['an empty last part', [9, 9, 0], -1],
  ['the rest in the last part, as from split -n', [9, 9, 9, 11], -1],
  ['the rest in the first parts, as from split -n', [10, 10, 9, 9], -1],
  ['more than the rest in the last part', [9, 9, 9, 13], 3],
  ['a smaller part', [9, 8, 9], 1],
  ['a smaller part before a smaller last part', [9, 9, 8, 2], 2],
  ['an empty part', [9, 0, 9], 1],
  ['a larger part', [9, 9, 10, 9], 2],
])('%s', ([, sizes, wrong]) => {
  expect(wrongSize(sizes)).toBe(wrong);
});
