import { expect, test } from 'vitest';
import { random } from '../../e2e/support/random.js';
import { GapCache, RangeSet, WantedRange } from './ranges.js';

test('added ranges form a set of bytes', () => {
  for (let seed = 0; seed < 200; seed += 1) {
    const next = random(seed);
    const whole = (most: number) => Math.floor(next() * most);
    const ranges = new RangeSet();
    const bytes = new Set<number>();
    for (let count = 0; count < 20; count += 1) {
      const start = whole(100);
      const end = start + 1 + whole(9);
      if (next() < 0.5) {
        const has = Array.from({ length: end - start }, (_, at) => bytes.has(start + at)).includes(true);
        expect(ranges.overlaps({ start, end }), `seed ${seed}`).toBe(has);
      } else {
        ranges.add({ start, end });
        for (let at = start; at < end; at += 1) bytes.add(at);
      }
    }
  }
});

test('the number of ranges is bounded', () => {
  const ranges = new RangeSet();
  for (let at = 0; at < 5000; at += 1) ranges.add({ start: 2 * at, end: 2 * at + 1 });
  expect(ranges.overlaps({ start: 0, end: 1 })).toBe(false);
  expect(ranges.overlaps({ start: 9998, end: 9999 })).toBe(true);
});

const bytes = (...values: number[]) => Uint8Array.from(values);

test('it is complete when all its bytes have arrived, in any order', async () => {
  const wanted = new WantedRange(100, 5);
  wanted.add(103, bytes(3, 4));
  wanted.add(100, bytes(0));
  expect(await Promise.race([wanted.complete, Promise.resolve('pending')])).toBe('pending');
  wanted.add(101, bytes(1, 2));
  expect(await wanted.complete).toEqual(bytes(0, 1, 2, 3, 4));
});

test('a failure rejects it, also without a reader', async () => {
  const wanted = new WantedRange(0, 5);
  wanted.fail(new Error('gone'));
  expect(wanted.isDropped).toBe(true);
  await expect(wanted.complete).rejects.toThrow('gone');
});

test('bytes after a drop are ignored', async () => {
  const wanted = new WantedRange(0, 2);
  wanted.add(0, bytes(1));
  wanted.drop();
  wanted.add(1, bytes(2));
  const first = await Promise.race([wanted.complete, Promise.resolve('pending')]);
  expect(first).toBe('pending');
});

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
