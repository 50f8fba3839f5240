// Which worker gets which job.

import { expect, test } from 'vitest';
import { JobRows } from './dispatcher.js';

/** Rows of `length` jobs for two workers; the workers of the jobs so far, by the numbers of the jobs; and `add` for a job. */
async function rowsOf(length: number, jobs: number) {
  const rows = new JobRows(2);
  rows.length = length;
  const workers: (number | undefined)[] = [];
  const turns: Promise<void>[] = [];
  const add = () => {
    const job = workers.push(undefined) - 1;
    const turn = async () => {
      workers[job] = await rows.turn();
    };
    turns.push(turn());
  };
  for (let job = 0; job < jobs; job += 1) add();
  await settle();
  return { rows, workers, add };
}

const settle = () => new Promise(setImmediate);

/** The jobs of `worker`. */
const jobsOf = (workers: (number | undefined)[], worker: number | undefined) =>
  [...workers.keys()].filter((job) => workers[job] === worker);

test('without rows, each job goes to the worker with the fewest', async () => {
  const { rows, workers, add } = await rowsOf(1, 6);
  expect(workers).toEqual([0, 1, 0, 1, 0, 1]);
  rows.done(1);
  add();
  await settle();
  expect(workers.at(-1)).toBe(1);
});

test('each worker gets two jobs, and then those of its row', async () => {
  const { rows, workers } = await rowsOf(8, 16);
  expect(jobsOf(workers, undefined)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
  for (const worker of [0, 1, 0, 0, 1, 1]) {
    rows.done(worker);
    await settle();
  }
  expect(jobsOf(workers, 0)).toEqual([0, 2, 4, 5, 6]);
  expect(jobsOf(workers, 1)).toEqual([1, 3, 8, 9, 10]);
});

test('a worker whose row has ended takes the next one, and then half of that of another', async () => {
  const { rows, workers } = await rowsOf(4, 12);
  // The first two rows begin with one job for each worker in turn.
  for (let jobs = 0; jobs < 6; jobs += 1) {
    rows.done(1);
    await settle();
  }
  expect(jobsOf(workers, 1)).toEqual([1, 3, 4, 5, 6, 7, 8, 9]);
  expect(jobsOf(workers, undefined)).toEqual([10, 11]);
  rows.done(0);
  await settle();
  // The row of the other worker has two jobs left: half of it is one.
  expect(jobsOf(workers, 0)).toEqual([0, 2, 11]);
});

test('a worker without jobs is not kept waiting by a long row', async () => {
  const { rows, workers, add } = await rowsOf(100, 3);
  expect(workers).toEqual([0, 1, 0]);
  rows.done(1);
  add();
  await settle();
  expect(workers).toEqual([0, 1, 0, 1]);
});
