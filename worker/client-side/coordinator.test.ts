// Which images share a coordinator: none at the same time, and any two one after the other.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { DecantError } from '../errors/errors.js';
import { acquireCoordinator, freeCoordinator, inAnyCoordinator } from './coordinator.js';
import { FakeWorkers } from './fake-workers.test-support.js';
import { endAllWorkers } from './warm.js';

let workers: FakeWorkers;

beforeEach(() => {
  workers = new FakeWorkers({ startCoordinator: () => {} });
});
afterEach(endAllWorkers);

test('two open images have two coordinators', () => {
  const one = acquireCoordinator(workers.starter);
  const other = acquireCoordinator(workers.starter);
  expect([other === one, one.isFree, other.isFree]).toEqual([false, false, false]);
  one.release(true);
  other.release(true);
});

test('a closed image leaves its coordinator to the next one', async () => {
  const one = acquireCoordinator(workers.starter);
  await one.ready;
  one.release(true);
  const next = acquireCoordinator(workers.starter);
  expect([next === one, workers.started.length]).toEqual([true, 1]);
  next.release(true);
});

test('a coordinator that failed is not used again', async () => {
  const one = acquireCoordinator(workers.starter);
  one.release(false);
  const next = acquireCoordinator(workers.starter);
  expect([next === one, workers.log]).toEqual([false, ['terminate workers']]);
  next.release(true);
});

test('a coordinator whose worker cannot be started leaves nothing that must be ended', async () => {
  const cause = new Error('Workers are forbidden');
  const starter = {
    ...workers.starter,
    spawn: () => {
      throw cause;
    },
  };
  expect(() => acquireCoordinator(starter)).toThrow(cause);
  await endAllWorkers();
  const next = acquireCoordinator(workers.starter);
  await next.ready;
  next.release(true);
});

test('a coordinator that is being prepared is free: an image is opened in it', async () => {
  const prepared = freeCoordinator(workers.starter);
  const preparing = prepared.prepare();
  expect(prepared.isFree).toBe(true);
  const acquired = acquireCoordinator(workers.starter);
  expect([acquired === prepared, acquired.isFree]).toEqual([true, false]);
  await preparing;
  expect(acquired.isFree).toBe(false);
  acquired.release(true);
  expect(acquired.isFree).toBe(true);
});

test('what needs no image uses a coordinator that has one', async () => {
  const opened = acquireCoordinator(workers.starter);
  const any = await inAnyCoordinator(workers.starter, async (client) => client);
  expect([any === opened.client, workers.started.length]).toEqual([true, 1]);
  opened.release(true);
});

test('a coordinator that does not start ends, and the next image gets another one', async () => {
  workers.methods.startCoordinator = () => {
    throw new DecantError('internal', 'no memory');
  };
  const one = acquireCoordinator(workers.starter);
  await expect(one.ready).rejects.toMatchObject({ kind: 'internal', message: 'no memory' });
  expect([one.usable, workers.log]).toEqual([false, ['terminate workers']]);
  const next = acquireCoordinator(workers.starter);
  expect(next).not.toBe(one);
  await expect(next.ready).rejects.toMatchObject({ kind: 'internal' });
});
