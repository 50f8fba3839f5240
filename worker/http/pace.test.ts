import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Pace } from './pace.js';

const KIB = 1 << 10;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** As many requests end as may be under way, and together bring `rate` bytes for each millisecond. */
function round(pace: Pace, rate: number): number {
  const count = pace.limit;
  vi.advanceTimersByTime(100);
  for (let ended = 0; ended < count; ended += 1) pace.ended((rate * 100) / count, 100);
  return pace.limit;
}

test('more requests at once while they raise the throughput, at most six', () => {
  const pace = new Pace();
  expect(pace.limit).toBe(4);
  expect([100, 200, 400, 800].map((rate) => round(pace, rate))).toEqual([5, 6, 6, 6]);
});

test.for([
  [104, 5],
  [106, 6],
])('five requests with %d %% of the throughput of four', ([rate, limit]) => {
  const pace = new Pace();
  round(pace, 100);
  expect(round(pace, rate!)).toBe(limit);
  // Settled values stay.
  expect(round(pace, 1000)).toBe(limit === 5 ? 5 : 6);
});

test('the rate is that of all requests that ended since', () => {
  const pace = new Pace();
  for (let ended = 0; ended < 3; ended += 1) pace.ended(1e6, 10);
  expect(pace.limit).toBe(4);
  pace.ended(1e6, 10);
  expect(pace.limit).toBe(5);
});

test('an overloaded server gets fewer requests, at least one, and is measured again', () => {
  const pace = new Pace();
  const limits = [];
  for (let refused = 0; refused < 4; refused += 1) {
    pace.overloaded();
    limits.push(pace.limit);
  }
  expect(limits).toEqual([2, 1, 1, 1]);
  // The previous best value is forgotten.
  expect([50, 100, 100].map((rate) => round(pace, rate))).toEqual([2, 3, 3]);
  pace.overloaded();
  expect(round(pace, 10)).toBe(2);
});

test('a gap costs as many bytes as arrive during the latency', () => {
  const pace = new Pace();
  expect(pace.gap).toBe(64 * KIB);
  pace.answered(10);
  expect(pace.gap).toBe(100_000);
  // New values count for three tenths.
  pace.answered(20);
  expect(pace.gap).toBeCloseTo(130_000, 3);
  pace.ended(2000, 1);
  expect(pace.gap).toBeCloseTo(13 * (7000 + 600), 3);
  pace.answered(1e9);
  expect(pace.gap).toBe(1024 * KIB);
});

test('bytes in no time do not change the speed', () => {
  const pace = new Pace();
  pace.answered(10);
  pace.ended(1e6, 0);
  expect(pace.gap).toBe(100_000);
});
