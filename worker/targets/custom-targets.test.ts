import { expect, test } from 'vitest';
import { streamTarget } from './custom-targets.js';

const bytes = Uint8Array.of(1, 2, 3);

test('gets the pieces in order, and is closed and unlocked', async () => {
  const seen: unknown[] = [];
  const stream = new WritableStream<Uint8Array>({
    write: (piece) => void seen.push(piece),
    close: () => void seen.push('close'),
  });
  const target = streamTarget(stream);
  expect(target.ascending).toBe(true);
  expect(stream.locked).toBe(true);
  await target.write(0, bytes);
  await target.close();
  expect(seen).toEqual([bytes, 'close']);
  expect(stream.locked).toBe(false);
});

test('is aborted with the reason', async () => {
  const seen: unknown[] = [];
  const reason = new Error('given up');
  const target = streamTarget(new WritableStream({ abort: (reason) => void seen.push(reason) }));
  await target.abort(reason as never, false);
  expect(seen).toEqual([reason]);
});

test('is refused if it is locked', () => {
  const stream = new WritableStream();
  stream.getWriter();
  expect(() => streamTarget(stream)).toThrow('The stream is locked by another writer');
});

test('is open, closed or failed', async () => {
  const cause = new Error('the far side is gone');
  const [closed, failed] = [new WritableStream(), new WritableStream()];
  await Promise.all([closed.close(), failed.abort(cause)]);
  await streamTarget(new WritableStream()).requireOpen();
  const refusal = { kind: 'usage', message: 'The stream is closed' };
  await expect(streamTarget(closed).requireOpen()).rejects.toMatchObject(refusal);
  await expect(streamTarget(failed).requireOpen()).rejects.toMatchObject({ kind: 'target', cause });
});

test('a failure between two writes rejects the next write and nothing else', async () => {
  const cause = new Error('the far side is gone');
  let fail = (_: Error) => {};
  const stream = new WritableStream({
    start: (controller) => {
      fail = (reason) => controller.error(reason);
    },
  });
  const target = streamTarget(stream);
  await target.write(0, bytes);
  fail(cause);
  await expect(target.write(3, bytes)).rejects.toBe(cause);
});

test('a reader that closes the stream without a reason is named', async () => {
  const target = streamTarget(new WritableStream({ write: () => Promise.reject() }));
  const failure = { kind: 'target', message: 'Could not write the output: its reader has closed the stream' };
  await expect(target.write(0, bytes)).rejects.toMatchObject(failure);
});
