// Streams in Node as images: a `Readable`, and a named pipe.

import { close, constants, open } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { DecantError } from '../../errors/errors.js';
import { fileReason } from '../../errors/file-error.js';
import { isObject } from '../../errors/values.js';

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** Whether `value` has the shape of a `Readable`: of a file, a request or a process. */
export const isNodeReadable = (value: unknown): value is Readable =>
  isObject(value) && 'pipe' in value && typeof value.pipe === 'function' && Symbol.asyncIterator in value;

/** The bytes of `readable`, read on demand. Throws `usage` if it was read or closed before. */
export function fromReadable(readable: Readable): ReadableStream<Uint8Array> {
  const isUsed = readable.readableDidRead || readable.destroyed;
  if (readable.readableEnded || (isUsed && !readable.errored)) {
    throw new DecantError('usage', 'The stream was read or closed before; pass a new one', {
      code: 'stream-used',
    });
  }
  // Until it is read, an error without a listener would end the process.
  readable.on('error', () => {});
  return streamOf(
    async () => readable,
    async () => void readable.destroy(),
  );
}

/** The bytes of the named pipe at `path`. It is opened at the first read, which waits for a writer. */
export function fromPipe(path: string): ReadableStream<Uint8Array> {
  let opening: Promise<Socket> | undefined;
  let isOpen = false;
  const openPipe = async () => {
    try {
      const fd = await promisify(open)(path, O_RDONLY);
      isOpen = true;
      return new Socket({ fd, readable: true, writable: false });
    } catch (cause) {
      throw new Error(`'${path}' cannot be opened: ${fileReason(cause)}`, { cause });
    }
  };
  const cancel = async () => {
    if (!opening) return;
    // Only a writer can end an open call that waits for one. It cannot connect if no open call waits, or the pipe was removed.
    if (!isOpen) await connectBriefly(path).catch(() => {});
    const socket = await opening.catch(() => undefined);
    socket?.destroy();
  };
  return streamOf(() => {
    opening ??= openPipe();
    return opening;
  }, cancel);
}

async function connectBriefly(path: string): Promise<void> {
  await promisify(close)(await promisify(open)(path, O_WRONLY | O_NONBLOCK));
}

function streamOf(begin: () => Promise<Readable>, cancel: () => Promise<void>): ReadableStream<Uint8Array> {
  let chunks: AsyncIterator<Uint8Array> | undefined;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        chunks ??= (await begin())[Symbol.asyncIterator]();
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel,
    },
    // This stream buffers nothing.
    { highWaterMark: 0 },
  );
}
