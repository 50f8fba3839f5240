import { expect, test } from 'vitest';
import type { Notice } from '../public/types.js';
import type { Capacity } from '../worker-side/coordinator-methods.js';
import { checkCapacity } from './capacity.js';

const GIB = 2 ** 30;

// (the size of the disk, the stated capacity, whether there is a notice)
test.each<[number | undefined, Capacity | undefined, boolean]>([
  [8192, { size: 8192, unit: 1 }, false],
  [8192, { size: 8191, unit: 1 }, false],
  [8192, { size: 7681, unit: 1 }, false],
  [8192, { size: 7680, unit: 1 }, true],
  [8192, { size: 8704, unit: 1 }, true],
  [GIB - 512, { size: GIB, unit: GIB }, false],
  [2 * GIB - 512, { size: GIB, unit: GIB }, false],
  [2 * GIB, { size: GIB, unit: GIB }, true],
  [8192, undefined, false],
  [undefined, { size: 8192, unit: 1 }, false],
])('a disk of %j bytes, with the capacity %j', (virtualSize, stated, isNoticed) => {
  const safety: Notice[] = [];
  checkCapacity({ ...(virtualSize === undefined ? {} : { virtualSize }), safety }, stated);
  const fields = { capacity: stated?.size, size: virtualSize };
  expect(safety).toEqual(isNoticed ? [{ code: 'ovf-capacity', fields, message: expect.any(String) }] : []);
});
