import { expect, test } from 'vitest';
import { GapCache } from './gap-cache.js';

const bytesOf = (start: number, length: number) => Uint8Array.from({ length }, (_, at) => start + at);

/** Returns the cached parts of a range, as `[offset, bytes]`, and the missing ones. */
function given(between: GapCache, start: number, end: number): { kept: [number, number[]][]; missing: number[][] } {
  const kept: [number, number[]][] = [];
  const missing = between.take({ start, end }, (offset, bytes) => kept.push([offset, [...bytes]]));
  return { kept, missing: missing.map((range) => [range.start, range.end]) };
}

test('only bytes between wanted ranges are kept', () => {
  const between = new GapCache();
  between.add(10, bytesOf(10, 10), [
    { start: 5, end: 12 },
    { start: 11, end: 13 },
    { start: 16, end: 17 },
  ]);
  expect(given(between, 0, 30)).toEqual({
    kept: [
      [13, [13, 14, 15]],
      [17, [17, 18, 19]],
    ],
    missing: [
      [0, 13],
      [16, 17],
      [20, 30],
    ],
  });
  expect(given(between, 14, 16)).toEqual({ kept: [[14, [14, 15]]], missing: [] });
});

test('the cache is bounded', () => {
  const between = new GapCache();
  for (let at = 0; at < 10; at += 1) between.add(at * 2 ** 21, new Uint8Array(1 << 20), []);
  const kept = Array.from({ length: 10 }, (_, at) => given(between, at * 2 ** 21, at * 2 ** 21 + 1).kept.length);
  expect(kept).toEqual([0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
});
