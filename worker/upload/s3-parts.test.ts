// The size of parts: S3 takes 10,000 of them.

import { expect, test } from 'vitest';
import { growingSize, partSize, requireRoom } from './s3-parts.js';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const TIB = 2 ** 40;
const ascending = true;

test.each([
  [0, 8],
  [1, 8],
  [8 * MIB * 10_000, 8],
  [8 * MIB * 10_000 + 1, 16],
  [16 * MIB * 10_000, 16],
  [TIB, 112],
  [512 * MIB * 10_000, 512],
])('%i bytes: parts of %i MiB', (outputSize, size) => {
  expect(partSize({ outputSize, ascending })).toBe(size * MIB);
  expect(Math.ceil(outputSize / partSize({ outputSize, ascending }))).toBeLessThanOrEqual(10_000);
});

test('an output that does not fit into an upload is refused', () => {
  const outputSize = 512 * MIB * 10_000 + 1;
  expect(() => partSize({ outputSize, ascending })).toThrow(
    /^An upload to S3 can have at most 5368709120000 bytes, but the output may have 5368709120001$/,
  );
});

test.each([
  [0, 8],
  [70 * GIB, 8],
  // It fits into 10,000 parts of 8 MiB; with a hundredth more it does not.
  [83_500_000_256, 16],
])('a disk of %i bytes, compressed: parts of %i MiB', (virtualSize, size) => {
  expect(partSize({ virtualSize, ascending })).toBe(size * MIB);
});

test('a compressed disk that may not fit into an upload is refused', () => {
  expect(() => partSize({ virtualSize: 5 * TIB, ascending })).toThrow(/can have at most 5368709120000 bytes/);
});

test('an unknown size: parts of 64 MiB, and of 512 MiB from the 8,000th on', () => {
  const size = partSize({ ascending });
  expect(size).toBe(64 * MIB);
  expect([0, 7999, 8000, 9999].map(growingSize(size))).toEqual([size, size, 512 * MIB, 512 * MIB]);
});

test('an upload takes 10,000 parts', () => {
  expect(() => requireRoom(9999, 7)).not.toThrow();
  expect(() => requireRoom(10_000, 7)).toThrow('An upload to S3 can have at most 10000 parts, here 7 bytes');
});
