import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PARTS_BEGIN, PARTS_END, PARTS_WORKER } from '../messages/messages.js';
import { RpcClient } from '../messages/rpc.js';
import type { CoordinatorMethods } from '../worker-side/coordinator-methods.js';
import { FakeWorkers } from './fake-workers.test-support.js';
import { PartLoans } from './pool.js';
import { endAllWorkers } from './warm.js';

const workers = new FakeWorkers({
  startPoolWorker: () => start(),
  connect: () => void workers.log.push('connect'),
  disconnect: () => void workers.log.push('disconnect'),
  lendParts: (number: number, ports: MessagePort[]) => void workers.log.push(`lend ${number}: ${ports.length} ports`),
  endParts: (number: number, sentence: string) => void workers.log.push(`end ${number}: ${sentence}`),
});
/** Starts a pool worker. */
let start: () => unknown;
let loans: PartLoans;
/** Reports an event of the coordinator. */
let report: (event: string, detail: unknown) => void;

/** Waits until all that can happen has happened. */
const settled = () => new Promise((resolve) => setTimeout(resolve));

beforeEach(() => {
  start = () => {};
  workers.log = [];
  workers.started = [];
  const client = new RpcClient<CoordinatorMethods>(workers.starter.spawn('workers'));
  loans = new PartLoans(client, workers.starter, 2);
  ({ report } = workers.started[0]!);
});
afterEach(async () => {
  await loans.end();
  await endAllWorkers();
});

test('workers are lent while they have parts, and connected when they are needed', async () => {
  report(PARTS_BEGIN, 0);
  await settled();
  expect(workers.log).toEqual(['lend 0: 2 ports']);
  report(PARTS_WORKER, { number: 0, at: 0 });
  await settled();
  expect(workers.log.slice(1)).toEqual(['connect']);
  report(PARTS_END, 0);
  await settled();
  expect(workers.log.slice(2)).toEqual(['disconnect']);
  // The pool stays for the next loan.
  report(PARTS_BEGIN, 1);
  await settled();
  expect(workers.log.slice(3)).toEqual(['lend 1: 2 ports']);
  expect(workers.started.length).toBe(3);
});

test('if the workers end, the coordinator learns it, and gets others', async () => {
  report(PARTS_BEGIN, 0);
  await settled();
  workers.started[1]!.die('A worker ended');
  await settled();
  expect(workers.log.filter((line) => line.startsWith('end'))).toEqual(['end 0: A worker ended']);
  report(PARTS_END, 0);
  report(PARTS_BEGIN, 1);
  await settled();
  expect(workers.log.at(-1)).toBe('lend 1: 2 ports');
  expect(workers.started.length).toBe(5);
});

test('workers that do not start are not lent', async () => {
  start = () => {
    throw new Error('no memory');
  };
  report(PARTS_BEGIN, 0);
  await vi.waitFor(() => expect(workers.log).toContainEqual(expect.stringMatching(/^end 0: .*no memory/)));
});

test('the end takes all workers back, and no others are lent', async () => {
  report(PARTS_BEGIN, 0);
  await settled();
  report(PARTS_WORKER, { number: 0, at: 1 });
  await settled();
  report(PARTS_BEGIN, 1);
  await loans.end();
  await settled();
  expect(workers.log).toContain('end 0: The image was closed');
  expect(workers.log).toContainEqual('disconnect');
  workers.log = [];
  report(PARTS_BEGIN, 2);
  await settled();
  expect(workers.log).toEqual(['end 2: The image was closed']);
});
