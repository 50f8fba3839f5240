// Which workers are started in advance.

import { afterEach, expect, test } from 'vitest';
import { FakeWorkers } from '../client-side/fake-workers.test-support.js';
import { endAllWorkers } from '../client-side/warm.js';
import type { PrepareOptions } from '../public/types.js';
import type { Platform } from './platform.js';
import { prepareWorkers } from './without-image.js';

afterEach(endAllWorkers);

/** Prepares with `options`. Resolves to the calls that the started workers get. */
async function prepared(options: PrepareOptions): Promise<string[]> {
  const calls: string[] = [];
  const start = (name: string) => () => void calls.push(name);
  const { starter } = new FakeWorkers({
    startCoordinator: start('coordinator'),
    startPoolWorker: start('worker'),
  });
  await prepareWorkers({ ...starter, threadsHint: '', cores: 2 } as unknown as Platform, {
    engine: 'workers',
    ...options,
  });
  return calls.sort();
}

test.each<[PrepareOptions, string[]]>([
  [{ workers: 2 }, ['coordinator', 'worker', 'worker']],
  [{ workers: 2, size: Number.POSITIVE_INFINITY }, ['coordinator', 'worker', 'worker']],
  [{ workers: 2, size: 4 << 20 }, ['coordinator', 'worker', 'worker']],
  [{ workers: 2, size: (4 << 20) - 1 }, ['coordinator']],
  [{ workers: 2, size: 0 }, ['coordinator']],
])('%j starts %j', async (options, started) => {
  expect(await prepared(options)).toEqual(started);
});

test.each([-1, 0.5, Number.NaN, '7', null])('a size of %j', async (size) => {
  const failure = { kind: 'usage', message: "'size' must be a whole number from 0 to 2^53-1" };
  await expect(prepared({ size: size as number })).rejects.toMatchObject(failure);
});
