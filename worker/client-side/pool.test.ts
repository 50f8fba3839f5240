// Which workers a pool starts, which conversions share them, and what a failed start ends.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DecantError } from '../errors/errors.js';
import { FakeWorkers } from './fake-workers.test-support.js';
import { acquirePool, startPool } from './pool.js';
import { endAllWorkers } from './warm.js';

let workers: FakeWorkers;

beforeEach(() => {
  workers = new FakeWorkers({
    startPoolWorker: (_module: unknown, size: number) => void workers.log.push(`start, pool of ${size}`),
    connect: (connection: number) => void workers.log.push(`connect ${connection}`),
    disconnect: (connection: number) => void workers.log.push(`disconnect ${connection}`),
  });
});
afterEach(endAllWorkers);

const engines = () => workers.started.map(({ engine }) => engine);
const failure = (work: Promise<unknown>) => work.catch((error: unknown) => error);

describe('two conversions', () => {
  for (const { name, first, second, shared } of [
    { name: 'share the workers of one size', first: ['workers', 2], second: ['workers', 2], shared: true },
    { name: 'have workers for each size', first: ['workers', 2], second: ['workers', 3], shared: false },
    { name: 'have threads for themselves', first: ['threads', 2], second: ['threads', 2], shared: false },
    { name: 'with different engines share nothing', first: ['workers', 2], second: ['threads', 2], shared: false },
  ] as const) {
    test(name, () => {
      const [one, other] = [first, second].map(([engine, size]) => acquirePool(workers.starter, engine, size));
      expect(one === other).toBe(shared);
      one!.release(true);
      other!.release(true);
    });
  }
});

test('workers of a conversion stay for the next one, threads end with it', async () => {
  for (const [engine, ends] of [
    ['workers', false],
    ['threads', true],
  ] as const) {
    workers.log = [];
    const pool = acquirePool(workers.starter, engine, 2);
    await pool.start();
    pool.release(true);
    await pool.ended;
    expect([pool.usable, workers.log.includes(`terminate ${engine}`)]).toEqual([!ends, ends]);
  }
});

test('after it was given up, the next conversion has other workers', () => {
  const pool = acquirePool(workers.starter, 'workers', 2);
  pool.giveUp();
  const next = acquirePool(workers.starter, 'workers', 2);
  expect(next).not.toBe(pool);
  pool.release(true);
  next.release(true);
});

test('prepared workers are those of the next conversion', async () => {
  await startPool(workers.starter, 'workers', 2);
  expect([engines(), workers.log]).toEqual([
    ['workers', 'workers'],
    ['start, pool of 2', 'start, pool of 2'],
  ]);
  const pool = acquirePool(workers.starter, 'workers', 2);
  await pool.start();
  expect(engines()).toHaveLength(2);
  pool.release(true);
});

test('one worker starts all threads', async () => {
  const pool = acquirePool(workers.starter, 'threads', 4);
  const { ports } = pool.connect();
  await pool.start();
  expect([engines(), ports.length, workers.log]).toEqual([['threads'], 1, ['start, pool of 4']]);
  pool.release(true);
});

describe('a connection', () => {
  test('starts a worker when it is first needed, and disconnects those that were connected', async () => {
    const pool = acquirePool(workers.starter, 'workers', 3);
    const connection = pool.connect();
    expect([connection.ports.length, engines()]).toEqual([3, []]);
    await connection.begin(1);
    expect(engines()).toEqual(['workers']);
    const number = workers.log.at(-1)!.replace('connect ', '');
    await connection.close();
    expect(workers.log).toEqual(['start, pool of 3', `connect ${number}`, `disconnect ${number}`]);
    pool.release(true);
  });

  test('to a worker that does not start ends the pool', async () => {
    workers.methods.startPoolWorker = () => {
      throw new DecantError('internal', 'no memory');
    };
    const pool = acquirePool(workers.starter, 'workers', 2);
    const reasons: string[] = [];
    pool.onEnd((sentence) => reasons.push(sentence));
    const connection = pool.connect();
    expect(await failure(connection.begin(0))).toMatchObject({ kind: 'internal', message: 'no memory' });
    expect([reasons, pool.usable, workers.log]).toEqual([['no memory'], false, ['terminate workers']]);
    expect(await failure(connection.begin(1))).toMatchObject({ kind: 'internal', message: 'no memory' });
    expect(engines()).toHaveLength(1);
    pool.release(false);
  });
});

test('a worker that dies ends the others, and tells every conversion why', async () => {
  const pool = acquirePool(workers.starter, 'workers', 2);
  const reasons: string[] = [];
  const [first, second] = [0, 1].map((number) => (sentence: string) => void reasons.push(`${number}: ${sentence}`));
  pool.onEnd(first!);
  pool.onEnd(second!);
  await pool.start();
  workers.started[1]!.die('out of memory');
  expect(reasons).toEqual(['0: out of memory', '1: out of memory']);
  expect(workers.log.filter((event) => event === 'terminate workers')).toHaveLength(2);
  // A conversion that connects later learns the reason, too.
  const late: string[] = [];
  pool.onEnd((sentence) => late.push(sentence));
  expect(late).toEqual(['out of memory']);
  pool.release(false);
});
