// Parts of the disk as the guest reads them.

import { anyOf } from '../calls/signals.js';
import type { Session } from '../client-side/session.js';
import { cancelled, DecantError, outOfMemory } from '../errors/errors.js';

/** The bytes that are asked for at once: few enough that others get their turn, and that a cancel is soon obeyed. */
const CHUNK = 4 << 20;
/** What is cancelled. */
export const READING = 'Reading the disk';

/** The `length` bytes of the disk from `offset` on, in chunks. */
export async function readRange(
  session: Session,
  offset: number,
  length: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  if (length <= CHUNK) return readChunk(session, offset, length, signal);
  const bytes = allocate(length);
  for (let at = 0; at < length; ) {
    const part = Math.min(length - at, CHUNK - ((offset + at) % CHUNK));
    bytes.set(await readChunk(session, offset + at, part, signal), at);
    at += part;
  }
  return bytes;
}

/** At most `CHUNK` bytes of the disk. Nothing is read any more when it has failed. */
function readChunk(
  session: Session,
  offset: number,
  length: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const { client, image } = session;
  return session.run(signal, (operation) => client.call('read', { operation, image, offset, length }));
}

/** Zeros. Fails with `internal` where there is no memory for them. */
function allocate(length: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(length);
  } catch (cause) {
    throw outOfMemory(cause, length);
  }
}

/** Fails with `usage` unless `value`, which may be anything, is a whole number of 0 or more. */
export function requireWhole(name: string, value: unknown): void {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return;
  throw new DecantError('usage', `'${name}' is no whole number from 0 to 2^53-1`);
}

/** Fails with `usage` unless `start` <= `end` <= `size`. */
export function checkRange(start: number, end: number, size: number): void {
  if (start <= end && end <= size) return;
  const sentence = `The disk has ${size} bytes: a range of it begins at 0 or later and does not end past that`;
  throw new DecantError('usage', `${sentence}, unlike ${start} to ${end}`);
}

/**
 * The bytes of the disk from `start` to before `end`, as fast as they are taken; `read` reads a part of it. The stream ends
 * when `confirm` has said that they are of one disk.
 */
export function streamOf(
  start: number,
  end: number,
  read: (offset: number, length: number, signal: AbortSignal) => Promise<Uint8Array<ArrayBuffer>>,
  confirm: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const ending = new AbortController();
  const either = signal ? anyOf([signal, ending.signal]) : ending.signal;
  let at = start;
  let fail = () => {};
  const settle = () => signal?.removeEventListener('abort', fail);
  const failed = (thrown: unknown): never => {
    settle();
    throw thrown;
  };
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      start(controller) {
        // Also where nobody takes anything from it just now.
        fail = () => controller.error(cancelled(READING));
        if (signal?.aborted) fail();
        else signal?.addEventListener('abort', fail);
      },
      async pull(controller) {
        if (at < end) {
          // Chunks end at multiples of their length, and so never inside of a cluster.
          const length = Math.min(end - at, CHUNK - (at % CHUNK));
          const bytes = await read(at, length, either).catch(failed);
          at += length;
          controller.enqueue(bytes);
        }
        if (at < end) return;
        if (start < end) await confirm(either).catch(failed);
        settle();
        controller.close();
      },
      cancel() {
        settle();
        ending.abort();
      },
    },
    // One chunk ahead of what is taken.
    { highWaterMark: 1 },
  );
}
