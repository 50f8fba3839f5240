// Reads passwords and tokens from files, pipes or terminals.

import { close, constants, createReadStream, fstat, open } from 'node:fs';
import { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { isatty, ReadStream } from 'node:tty';
import { promisify } from 'node:util';
import { cancelled, DecantError } from '../errors/errors.js';
import { fileError } from '../errors/file-error.js';
import { shownInput } from './remote-inputs.js';
import { STANDARD_INPUT } from './standard-input.js';

/** The maximum size of a file, in bytes. */
const MOST = 1 << 20;

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

/**
 * Reads the file; errors call its content `what`. Fails with `usage` if it has more than 1 MiB, and with `cancelled` when
 * `signal` is aborted.
 */
export async function readSecret(
  path: string,
  what: 'the password' | 'the headers',
  signal: AbortSignal,
): Promise<Buffer> {
  try {
    const stream = path === STANDARD_INPUT ? process.stdin : await openStream(path);
    const parts: Buffer[] = [];
    let size = 0;
    for await (const part of addAbortSignal(signal, stream)) {
      parts.push(part);
      size += part.length;
      if (size > MOST) throw tooLarge(path, what);
    }
    return Buffer.concat(parts);
  } catch (thrown) {
    if (signal.aborted) throw cancelled();
    throw fileError(thrown, 'source', `read ${what} from '${shownInput(path)}'`);
  }
}

function tooLarge(path: string, what: string): DecantError {
  const name = path === STANDARD_INPUT ? 'Standard input' : `'${shownInput(path)}'`;
  return new DecantError('usage', `${name} is too large for ${what}: more than ${MOST} bytes`);
}
