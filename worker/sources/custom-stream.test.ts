import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { openStream } from './custom-sources.js';
import { StreamReader } from './custom-stream.js';
import { isReadable } from './inputs.js';

const never = new AbortController().signal;

/** A stream of `chunks`; an error among them ends it. */
function streamOf(...chunks: unknown[]): ReadableStream<Uint8Array> {
  const rest = [...chunks];
  return new ReadableStream(
    {
      pull(controller) {
        const chunk = rest.shift();
        if (chunk === undefined) controller.close();
        else if (chunk instanceof Error) controller.error(chunk);
        else controller.enqueue(chunk as Uint8Array);
      },
    },
    { highWaterMark: 0 },
  );
}

const bytes = (...values: number[]) => Uint8Array.from(values);

test.for([
  [new ReadableStream(), true],
  [{ getReader: () => {} }, true],
  [{ getReader: 7 }, false],
  [new Blob(), false],
  [null, false],
] as const)('%o has the shape of a stream: %s', ([value, is]) => {
  expect(isReadable(value)).toBe(is);
});

test('reads in order, with any chunks', async () => {
  const reader = new StreamReader(streamOf(bytes(1, 2, 3), bytes(), bytes(4), bytes(5, 6, 7, 8)));
  const parts = [];
  for (const [offset, length] of [
    [0, 2],
    [2, 3],
    [5, 0],
    [5, 2],
    [7, 5],
    [8, 5],
  ] as const) {
    parts.push([...(await reader.read(offset, length, never))]);
  }
  expect(parts).toEqual([[1, 2], [3, 4, 5], [], [6, 7], [8], []]);
});

test('a stream of empty chunks can be cancelled', async () => {
  const stream = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(0)) });
  const reading = new StreamReader(stream).read(0, 1, AbortSignal.timeout(50));
  await expect(reading).rejects.toMatchObject({ kind: 'cancelled' });
});

test('bytes cannot be read twice', async () => {
  const reader = new StreamReader(streamOf(bytes(1, 2, 3)));
  await reader.read(0, 2, never);
  for (const offset of [0, 1, 3]) {
    const message = 'The stream was read already; open the image again';
    await expect(reader.read(offset, 1, never)).rejects.toMatchObject({ kind: 'usage', message });
  }
  expect(await reader.read(2, 1, never)).toEqual(bytes(3));
});

test('one read at a time, and none after a failure', async () => {
  const cause = new Error('the pipe broke');
  const reader = new StreamReader(streamOf(bytes(1), cause));
  const failing = reader.read(0, 2, never);
  await expect(reader.read(0, 2, never)).rejects.toMatchObject({ kind: 'usage' });
  await expect(failing).rejects.toMatchObject({
    kind: 'source',
    message: 'Could not read the image: the pipe broke',
    cause,
  });
  // A byte is lost.
  await expect(reader.read(0, 2, never)).rejects.toMatchObject({ kind: 'usage' });
});

test.for([['text'], [new ArrayBuffer(1)], [new Uint16Array(1)], [7]])('a chunk that is %o', async ([chunk]) => {
  const message = 'Could not read the image: its stream returned a chunk that is not a Uint8Array';
  const reading = new StreamReader(streamOf(chunk)).read(0, 1, never);
  await expect(reading).rejects.toMatchObject({ kind: 'source', message });
});

test('a chunk of another realm', async () => {
  const reader = new StreamReader(streamOf(runInNewContext('Uint8Array.of(7)')));
  expect(await reader.read(0, 1, never)).toEqual(bytes(7));
});

test('a waiting read is cancelled', async () => {
  const cancel = new AbortController();
  const reader = new StreamReader(new ReadableStream());
  const reading = reader.read(0, 1, cancel.signal);
  cancel.abort();
  await expect(reading).rejects.toMatchObject({ kind: 'cancelled' });
  const late = new StreamReader(streamOf(bytes(1))).read(0, 1, AbortSignal.abort());
  await expect(late).rejects.toMatchObject({ kind: 'cancelled' });
});

test('a locked stream is refused', () => {
  const stream = streamOf();
  stream.getReader();
  const message = expect.stringContaining('The stream cannot be read: ');
  expect(() => openStream(stream)).toThrow(expect.objectContaining({ kind: 'usage', message }));
});

test('the properties of an opened stream, and its end', async () => {
  let reason: unknown = 'not cancelled';
  const stream = new ReadableStream<Uint8Array>({
    cancel(given) {
      reason = given;
      throw new Error('it fails to end');
    },
  });
  const opened = openStream(stream);
  expect(opened).toMatchObject({ identity: stream, name: undefined, size: undefined });
  await opened.verify();
  await opened.close();
  expect(reason).toBeUndefined();
});
