// Reads ranges of the disk, as the guest sees it.

import type { ImageSession } from '../client-side/image-session.js';
import { cancelled, DecantError, outOfMemory } from '../errors/errors.js';
import { anyOf } from '../errors/signals.js';

/** The maximum bytes for each call: small enough for other operations to run in between, and for a quick cancel. */
const CHUNK = 4 << 20;
/** The operation, for messages. */
export const READING = 'Reading the disk';

/** Reads `length` bytes of the disk from `offset`, in chunks. */
export async function readRange(
  session: ImageSession,
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

/** Reads at most `CHUNK` bytes of the disk. After a failure, nothing is being read. */
function readChunk(
  session: ImageSession,
  offset: number,
  length: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const { client, image } = session;
  return session.run(signal, (operation) => client.call('read', { operation, image, offset, length }));
}

/** Allocates zeros. Throws `internal` if there is not enough memory. */
function allocate(length: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(length);
  } catch (cause) {
    throw outOfMemory(cause, length);
  }
}

/** Throws `usage` unless `value` is a whole number from 0 to 2^53-1. */
export function requireWhole(name: string, value: unknown): void {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return;
  throw new DecantError('usage', `'${name}' must be a whole number from 0 to 2^53-1`);
}

/** Throws `usage` unless the range ends within `size`. */
export function checkRange(offset: number, length: number, size: number): void {
  if (offset + length <= size) return;
  throw new DecantError('usage', `The disk has ${size} bytes, but the range has ${length} from byte ${offset} on`);
}

/**
 * Streams the bytes of the disk from `start` up to `end`, one chunk ahead of the reader. `read` reads a part of the disk. The
 * stream ends when `confirm` resolves: all bytes come from one state of the disk.
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
        // An abort takes effect even if nothing is being read.
        fail = () => controller.error(cancelled(READING, signal));
        if (signal?.aborted) fail();
        else signal?.addEventListener('abort', fail);
      },
      async pull(controller) {
        if (at < end) {
          // Chunks end at multiples of their length, and so never inside a cluster.
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
    // The stream reads one chunk ahead of the reader.
    { highWaterMark: 1 },
  );
}
