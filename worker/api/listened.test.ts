import { expect, test } from 'vitest';
import { cancelled, orCancelled } from '../errors.js';
import { listened } from './listened.js';

const never = new Promise<never>(() => {});

test('passes on what is told, and the result', async () => {
  const told: number[] = [];
  const result = await listened<number, string>(
    undefined,
    (detail) => told.push(detail),
    async (_, listener) => {
      listener(1);
      listener(2);
      return 'done';
    },
  );
  expect([told, result]).toEqual([[1, 2], 'done']);
});

test('what a listener throws ends the work as usage', async () => {
  const cause = new Error('no');
  const listener = () => {
    throw cause;
  };
  const work = listened(undefined, listener, async (signal, listener) => {
    listener(1);
    return orCancelled(signal, never);
  });
  await expect(work).rejects.toMatchObject({ kind: 'usage', message: 'Could not report progress: no', cause });
});

test('a failure of the work is told as it is', async () => {
  const cause = new Error('broken');
  await expect(
    listened(
      undefined,
      () => {},
      () => Promise.reject(cause),
    ),
  ).rejects.toBe(cause);
});

test("the caller's signal ends the work", async () => {
  const cancel = new AbortController();
  const work = listened(
    cancel.signal,
    () => {},
    (signal) => orCancelled(signal, never),
  );
  cancel.abort();
  await expect(work).rejects.toEqual(cancelled());
});
