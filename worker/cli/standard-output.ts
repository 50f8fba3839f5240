// Standard output as an output.

import { createWriteStream, fstat } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { promisify } from 'node:util';
import { DecantError } from '../errors.js';
import { fileError } from '../file-error.js';
import { deviceOf, filesBehind } from '../targets/device.js';
import { isSame } from '../targets/target.js';
import { STANDARD_INPUT } from './standard-input.js';

/** The argument that stands for standard output. */
export const STANDARD_OUTPUT = '-';

const STDIN = 0;
const STDOUT = 1;

/** Fails with `usage` if standard output is a terminal, one of the files `read`, or a device whose content one of them holds. */
export async function requireStandardOutput(read: string[]): Promise<void> {
  if (isatty(STDOUT)) {
    throw new DecantError('usage', 'Standard output is a terminal; redirect it to a file or a program');
  }
  const output = await promisify(fstat)(STDOUT, { bigint: true });
  const written = [output, ...(await filesBehind(deviceOf(output)))];
  for (const path of read) {
    // A missing file is reported when it is opened.
    const found = path === STANDARD_INPUT ? promisify(fstat)(STDIN, { bigint: true }) : stat(path, { bigint: true });
    const file = await found.catch(() => undefined);
    if (file && written.some((one) => isSame(one, file))) {
      throw new DecantError('usage', `Standard output is '${path}', which is read; choose another output`);
    }
  }
}

/** Standard output as a stream, from its current position on. A slow reader never blocks the process. */
export async function standardOutput(): Promise<WritableStream<Uint8Array>> {
  const stats = await promisify(fstat)(STDOUT);
  const isPipe = stats.isFIFO() || stats.isSocket();
  const stream: Writable = isPipe
    ? new Socket({ fd: STDOUT, readable: false, writable: true })
    : createWriteStream('', { fd: STDOUT });
  // Ignored: each write reports its own failure.
  stream.on('error', () => {});
  const settle = (resolve: () => void, reject: (error: Error) => void) => (error?: Error | null) =>
    error ? reject(fileError(error, 'sink', 'write to standard output')) : resolve();
  return new WritableStream<Uint8Array>({
    // The signal comes at once. A method `abort` would be called only after the write under way, which may never end.
    start: ({ signal }) => signal.addEventListener('abort', () => stream.destroy()),
    write: (bytes) => new Promise((resolve, reject) => stream.write(bytes, settle(resolve, reject))),
    close: () => new Promise((resolve, reject) => stream.end(settle(resolve, reject))),
  });
}
