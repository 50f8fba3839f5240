// Requests under way at once: their number, and their failures.

import { expect, test } from 'vitest';
import { InFlight } from './in-flight.js';
import { failure, held } from './uploads.test-support.js';

const turn = () => new Promise((done) => setImmediate(done));

test('as many as allowed begin at once, and the next one when one of them ends', async () => {
  const flight = new InFlight(3);
  const all = Array.from({ length: 5 }, held);
  const begun: number[] = [];
  const beginning = (async () => {
    for (const [number, { work }] of all.entries()) {
      await flight.start(() => {
        begun.push(number);
        return work();
      });
    }
  })();
  await turn();
  expect(begun).toEqual([0, 1, 2]);
  all[1]!.succeed();
  await turn();
  expect(begun).toEqual([0, 1, 2, 3]);
  all[0]!.succeed();
  await beginning;
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  for (const { succeed } of all) succeed();
  await flight.finish();
});

test('all() waits for the last one', async () => {
  const flight = new InFlight(2);
  const [first, second] = [held(), held()];
  await flight.start(first.work);
  await flight.start(second.work);
  let isOver = false;
  const over = flight.finish().then(() => {
    isOver = true;
  });
  first.succeed();
  await turn();
  expect(isOver).toBe(false);
  second.succeed();
  await over;
});

test('after a failure nothing begins, and all() fails with the first one', async () => {
  const flight = new InFlight(2);
  const [first, second] = [held(), held()];
  await flight.start(first.work);
  await flight.start(second.work);
  let hasBegun = false;
  const third = failure(
    flight.start(async () => {
      hasBegun = true;
    }),
  );
  first.fail('the first');
  second.fail('the second');
  expect(await third).toBe('the first');
  expect(hasBegun).toBe(false);
  expect(await failure(flight.finish())).toBe('the first');
});

test('a failure without a waiter is not an unhandled rejection', async () => {
  const flight = new InFlight(1);
  await flight.start(() => Promise.reject(new Error('unseen')));
  await turn();
  expect(await failure(flight.finish())).toBe('unseen');
});
