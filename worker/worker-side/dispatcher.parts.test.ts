import { expect, test } from 'vitest';
import { PARTS_BEGIN, PARTS_END, PARTS_WORKER } from '../messages/messages.js';
import { channelPort, serve } from '../messages/rpc.js';
import { PartWorkers } from './dispatcher.js';

/** Part workers with `count` pool workers, which answer with `run`, and the events so far. */
function partWorkers(count: number, run: (task: Uint8Array) => unknown) {
  const events: unknown[][] = [];
  const lend = (number: number) => {
    const channels = Array.from({ length: count }, () => new MessageChannel());
    for (const { port2 } of channels) serve(channelPort(port2), { run });
    workers.lend(
      number,
      channels.map(({ port1 }) => port1),
    );
  };
  const workers: PartWorkers = new PartWorkers((event, detail) => events.push([event, detail]));
  return { workers, events, lend };
}

const task = (number: number) => Uint8Array.of(number);

test('workers are borrowed with the first part and given back after the last one', async () => {
  const { workers, events, lend } = partWorkers(2, ([number]) => number);
  const parts = [1, 2, 3].map((number) => workers.run(task(number), [new Uint8Array(4)]));
  expect(events).toEqual([[PARTS_BEGIN, 0]]);
  lend(0);
  expect(await Promise.all(parts)).toEqual([1, 2, 3]);
  expect(events.slice(1)).toEqual([
    [PARTS_WORKER, { number: 0, at: 0 }],
    [PARTS_WORKER, { number: 0, at: 1 }],
    [PARTS_END, 0],
  ]);
  const next = workers.run(task(4), []);
  lend(1);
  expect(await next).toBe(4);
  expect(events.at(-1)).toEqual([PARTS_END, 1]);
});

test.each(['before they are lent', 'while they decode'])('workers that end %s fail their parts only', async (when) => {
  const { workers, events, lend } = partWorkers(1, ([number]) => (number === 1 ? new Promise(() => {}) : number));
  const part = workers.run(task(1), []);
  if (when === 'while they decode') lend(0);
  // The job is sent.
  await new Promise((resolve) => setTimeout(resolve));
  workers.end(0, 'They have ended');
  await expect(part).rejects.toMatchObject({ kind: 'internal', message: 'They have ended' });
  const next = workers.run(task(2), []);
  expect(events.filter(([event]) => event === PARTS_BEGIN).length).toBe(2);
  lend(1);
  expect(await next).toBe(2);
  expect(events.filter(([event]) => event === PARTS_END)).toEqual([
    [PARTS_END, 0],
    [PARTS_END, 1],
  ]);
});
