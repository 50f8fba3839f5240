import { expect, test } from 'vitest';
import { cancelled, orCancelled } from './errors.js';
import { withListener } from './signals.js';

const never = new Promise<never>(() => {});

test('passes on each detail and the result', async () => {
  const details: number[] = [];
  const result = await withListener<number, string>(
    undefined,
    (detail) => details.push(detail),
    async (_, listener) => {
      listener(1);
      listener(2);
      return 'done';
    },
  );
  expect([details, result]).toEqual([[1, 2], 'done']);
});

test('a listener that throws ends the work with usage', async () => {
  const cause = new Error('no');
  const listener = () => {
    throw cause;
  };
  const work = withListener(undefined, listener, async (signal, listener) => {
    listener(1);
    return orCancelled(signal, never);
  });
  await expect(work).rejects.toMatchObject({ kind: 'usage', message: 'Could not report progress: no', cause });
});

test('rejects with the failure of the work itself', async () => {
  const cause = new Error('broken');
  await expect(
    withListener(
      undefined,
      () => {},
      () => Promise.reject(cause),
    ),
  ).rejects.toBe(cause);
});

test("the caller's signal ends the work", async () => {
  const cancel = new AbortController();
  const work = withListener(
    cancel.signal,
    () => {},
    (signal) => orCancelled(signal, never),
  );
  cancel.abort();
  await expect(work).rejects.toEqual(cancelled());
});

test('a listener that rejects ends the work with usage', async () => {
  const cause = new Error('no');
  const work = withListener(
    undefined,
    (() => Promise.reject(cause)) as () => void,
    async (signal, listener: (detail: number) => void) => {
      listener(1);
      return orCancelled(signal, never);
    },
  );
  await expect(work).rejects.toMatchObject({ kind: 'usage', message: 'Could not report progress: no', cause });
});
