import { expect, test } from 'vitest';
import { copyLifetime } from './copy-lifetime.js';

test.each([
  { what: 'nothing', size: 0, milliseconds: 120_000 },
  { what: '20 MB', size: 20e6, milliseconds: 121_000 },
  { what: '1 TB', size: 1e12, milliseconds: 50_120_000 },
  { what: 'more than a timer takes', size: 2 ** 53, milliseconds: 2 ** 31 - 1 },
])('keeps the copy of a download of $what for $milliseconds ms', ({ size, milliseconds }) => {
  expect(copyLifetime(size)).toBe(milliseconds);
});
