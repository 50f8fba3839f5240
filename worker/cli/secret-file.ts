// Reads passwords and tokens from files, pipes or terminals.

import { close, constants, createReadStream, fstat, open } from 'node:fs';
import { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { isatty, ReadStream } from 'node:tty';
import { promisify } from 'node:util';
import { cancelled } from '../errors/errors.js';
import { fileError } from '../errors/file-error.js';
import { shownInput } from './remote-inputs.js';
import { STANDARD_INPUT } from './standard-input.js';

/** Opens a file, pipe or terminal. Does not block on a pipe without a writer, so that waiting can be cancelled. */
async function openStream(path: string): Promise<Readable> {
  const fd = await promisify(open)(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if ((await promisify(fstat)(fd)).isFIFO()) return new Socket({ fd, readable: true, writable: false });
    return isatty(fd) ? new ReadStream(fd) : createReadStream(path, { fd });
  } catch (thrown) {
    await promisify(close)(fd);
    throw thrown;
  }
}

/** Reads the file. Errors call it `what`. Fails with `cancelled` when `signal` is aborted. */
export async function readSecret(path: string, what: string, signal: AbortSignal): Promise<Buffer> {
  try {
    const stream = path === STANDARD_INPUT ? process.stdin : await openStream(path);
    return await buffer(addAbortSignal(signal, stream));
  } catch (thrown) {
    if (signal.aborted) throw cancelled();
    throw fileError(thrown, 'source', `read ${what} from '${shownInput(path)}'`);
  }
}
