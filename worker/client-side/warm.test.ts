// Warm workers: how long they stay after their last use.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { DecantError } from '../errors/errors.js';
import { endAllWorkers, WarmWorkers } from './warm.js';

const WARM = 10_000;

class Workers extends WarmWorkers {
  readonly stops: string[] = [];
  alive: boolean | undefined;
  stopped = () => {};

  protected stop({ kind, message }: DecantError): Promise<void> {
    this.stops.push(`${kind}: ${message}`);
    return new Promise((resolve) => {
      this.stopped = resolve;
    });
  }

  protected keepAlive(alive: boolean): void {
    this.alive = alive;
  }
}

const STOPPED = 'internal: A worker ended unexpectedly (it was stopped); try again, perhaps with fewer workers';

let workers: Workers;
beforeEach(() => {
  vi.useFakeTimers();
  workers = new Workers();
});
afterEach(() => {
  workers.end();
  vi.useRealTimers();
});

test('after the last use they stay for ten seconds, without keeping the process alive', () => {
  workers.use();
  workers.use();
  expect([workers.users, workers.alive]).toEqual([2, true]);
  workers.release(true);
  expect(workers.alive).toBe(true);
  workers.release(true);
  expect([workers.users, workers.alive]).toEqual([0, false]);
  vi.advanceTimersByTime(WARM - 1);
  expect([workers.stops, workers.usable]).toEqual([[], true]);
  vi.advanceTimersByTime(1);
  expect([workers.stops, workers.usable]).toEqual([[STOPPED], false]);
});

test('a use in between restarts the time', () => {
  for (let times = 0; times < 3; times += 1) {
    workers.use();
    vi.advanceTimersByTime(5 * WARM);
    workers.release(true);
    vi.advanceTimersByTime(WARM - 1);
  }
  expect(workers.stops).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(workers.stops).toHaveLength(1);
});

test('a failure of the last use ends them at once, one of another use does not', () => {
  workers.use();
  workers.use();
  workers.release(false);
  expect(workers.stops).toEqual([]);
  workers.release(false);
  expect(workers.stops).toHaveLength(1);
});

test('given up, they end with their last use', () => {
  workers.use();
  workers.giveUp();
  expect([workers.usable, workers.stops]).toEqual([false, []]);
  workers.release(true);
  expect(workers.stops).toHaveLength(1);
});

test('they end when only overdue uses are left', () => {
  for (let users = 0; users < 3; users += 1) workers.use();
  workers.overdue();
  workers.overdue();
  expect([workers.usable, workers.stops]).toEqual([false, []]);
  workers.release(true);
  expect(workers.stops).toHaveLength(1);
});

test('an overdue use that has ended is not counted', () => {
  workers.use();
  workers.use();
  workers.overdue();
  workers.release(true, true);
  expect(workers.stops).toEqual([]);
  workers.release(true);
  expect(workers.stops).toHaveLength(1);
});

test('an end has one reason, and resolves when the workers have stopped', async () => {
  expect([workers.ended, workers.reasonOfEnd]).toEqual([undefined, undefined]);
  workers.end('disposed');
  workers.end('once more');
  expect([workers.stops, workers.reasonOfEnd?.message]).toEqual([['internal: disposed'], 'disposed']);
  let ended = false;
  const end = workers.ended!.then(() => {
    ended = true;
  });
  await vi.advanceTimersByTimeAsync(WARM);
  expect(ended).toBe(false);
  workers.stopped();
  await end;
  expect(ended).toBe(true);
});

test('all are ended and awaited', async () => {
  const other = new Workers();
  workers.use();
  let ended = false;
  const end = endAllWorkers().then(() => {
    ended = true;
  });
  const sentence = 'cancelled: The operation was cancelled by dispose()';
  expect([workers.stops, other.stops]).toEqual([[sentence], [sentence]]);
  workers.stopped();
  await vi.advanceTimersByTimeAsync(0);
  expect(ended).toBe(false);
  other.stopped();
  await end;
  // Nothing is left.
  await endAllWorkers();
  expect(other.stops).toHaveLength(1);
});
