// Reports of servers that an upload waits for, and the time that a server may take to complete an object.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { later, MIB, over, PLACE, putting, sending, spaces } from './requests.test-support.js';
import { failure, runClock } from './uploads.test-support.js';

beforeEach(() => {
  vi.useFakeTimers();
  // Waits are not jittered.
  vi.spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => void vi.useRealTimers());

test('the server is reported while an upload fails', async () => {
  const { requests } = over([503, 503, 503, 503, 503, 503, 200]);
  let waiting: unknown;
  setTimeout(() => {
    waiting = requests.network.waiting;
  }, 6000);
  expect(await sending(requests)).toBe('nothing failed');
  expect(waiting).toEqual({ host: 'cloud.test', status: 503, attempt: 5 });
  expect(requests.network.waiting).toBeUndefined();
});

const completing = () => ({ ...putting()(), completing: true as const });

test.each([
  ['in the pace of MinIO', 10_000, {}],
  ['more slowly than the time-out', 25_000, { timeout: 2 }],
])('a completion that shows by spaces that it goes on is waited for, beyond patience: %s', async (_, wait, options) => {
  const count = 3_600_000 / wait;
  const { requests, calls } = over([() => spaces(wait, count)], options);
  const reported: unknown[] = [];
  const timer = setInterval(() => reported.push(requests.network.waiting), 1000);
  const work = failure(requests.send(completing, [200]));
  await vi.advanceTimersByTimeAsync(3_600_000 - 1);
  clearInterval(timer);
  // After five seconds and the way of the body, and not taken back by a space.
  expect(reported.slice(0, 5)).toEqual(Array(5).fill(undefined));
  expect(new Set(reported.slice(5).map((waiting) => JSON.stringify(waiting)))).toEqual(
    new Set([JSON.stringify({ host: 'cloud.test', attempt: 0, completing: true })]),
  );
  expect(await runClock(work)).toBe('nothing failed');
  expect(calls).toHaveLength(1);
  expect(requests.network.waiting).toBeUndefined();
});

test('a completion whose spaces end is retried after the time-out', async () => {
  const { requests, waits } = over([200, () => spaces(10_000, 3, true), 200]);
  await sending(requests);
  expect(await runClock(failure(requests.send(completing, [200])))).toBe('nothing failed');
  expect(waits()).toEqual([0, 30_000 + 30_000 + 250]);
});

test('a pending request is reported after five seconds, until its response', async () => {
  const { requests } = over([later(20_000)]);
  const work = failure(requests.send(() => ({ method: 'POST', url: PLACE }), [201]));
  await vi.advanceTimersByTimeAsync(4999);
  expect(requests.network).toMatchObject({ silence: 0 });
  expect(requests.network.waiting).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(requests.network).toMatchObject({ silence: 5, waiting: { host: 'cloud.test', attempt: 0 } });
  expect(await runClock(work)).toBe('nothing failed');
  expect(requests.network.waiting).toBeUndefined();
});

test('a body that may still be in transit is not silence', async () => {
  // The first one takes as long as 1 MiB/s, the second as half of that, and then nothing comes.
  const { requests } = over([later(8000), later(16_000), 'silent']);
  const reported: number[] = [];
  const timer = setInterval(() => requests.network.waiting && reported.push(performance.now() - begin), 1000);
  let begin = performance.now();
  for (let count = 0; count < 2; count += 1) {
    expect(await runClock(failure(requests.send(putting(8 * MIB), [201])))).toBe('nothing failed');
  }
  expect(reported).toEqual([]);
  begin = performance.now();
  const work = failure(requests.send(putting(8 * MIB), [201]));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(reported[0]).toBe(2 * 16_000 + 5000);
  clearInterval(timer);
  requests.stop();
  await work;
});
