import { expect, test } from 'vitest';
import { random } from '../../e2e/support/random.js';
import { RangeSet } from './range-set.js';

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
