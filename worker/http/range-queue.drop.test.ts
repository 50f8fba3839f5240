import { expect, test } from 'vitest';
import { Pace } from './pace.js';
import { RangeQueue } from './range-queue.js';
import { RequestSlots } from './request-limit.js';

test('a request is aborted when its remaining parts are dropped', async () => {
  const signals: AbortSignal[] = [];
  const fetchRange = (_: object, take: (bytes: Uint8Array) => void, signal: AbortSignal) => {
    signals.push(signal);
    take(new Uint8Array(10));
    return new Promise<never>((_, reject) => {
      signal.addEventListener('abort', reject);
    });
  };
  const queue = new RangeQueue(fetchRange, new Pace(), new RequestSlots());
  const parts = [0, 10].map((start) => queue.expect({ start, end: start + 10 }));
  for (const part of parts) part.isAwaited = true;
  queue.start();
  await parts[0]!.complete;
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  queue.drop(parts[1]!);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});
