// Standard input as the image, and standard output as the output.

import { createReadStream, createWriteStream, fstat } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { promisify } from 'node:util';
import { DecantError } from '../errors/errors.js';
import { fileError } from '../errors/file-error.js';
import { isUnsized } from '../sources/node/node-file.js';
import { statsOf } from './operands.js';

/** The argument for standard input. */
export const STANDARD_INPUT = '-';

export const STDIN = 0;

/** What a command reads, for people, and the file that it is in. */
export type Read = readonly [what: string, file: string | undefined];

/** Fails with `usage` if two of `read` are in standard input, which has only one end. */
export function requireOneFromInput(read: readonly Read[]): void {
  const [first, second] = read.filter(([, file]) => file === STANDARD_INPUT);
  if (second === undefined) return;
  throw new DecantError('usage', `Standard input is already ${first![0]}; put ${second[0]} into a file`);
}

/**
 * Returns standard input for `open`: for a file or block device at its start a path, for random access; otherwise, and for
 * files such as those in /proc, whose size is 0, a stream. Fails with `usage` for a terminal, and with
 * `source` for a folder.
 */
export async function standardInput(): Promise<string | Readable> {
  if (isatty(STDIN)) {
    throw new DecantError('usage', 'Standard input is a terminal; redirect it from a file or a program');
  }
  const stats = await promisify(fstat)(STDIN);
  if (stats.isDirectory()) throw new DecantError('source', 'Standard input is a folder, not an image');
  const isSized = stats.isBlockDevice() || (stats.isFile() && !(await isUnsized(STDIN, stats.size)));
  if (isSized && (await isAtStart())) return '/dev/stdin';
  // Except for pipes and sockets, `process.stdin` may be an empty stream.
  return stats.isFIFO() || stats.isSocket() ? process.stdin : createReadStream('', { fd: STDIN });
}

/** Whether the position is 0: another process may have read a part. Only Linux reports it. */
async function isAtStart(): Promise<boolean> {
  const about = await readFile(`/proc/self/fdinfo/${STDIN}`, 'latin1').catch(() => '');
  return /^pos:\s*0$/m.test(about);
}

/** The argument for standard output. */
export const STANDARD_OUTPUT = '-';

export const STDOUT = 1;

/** Fails with `usage` if standard output is a terminal. */
export function requireNoTerminal(): void {
  if (isatty(STDOUT)) {
    throw new DecantError('usage', 'Standard output is a terminal; redirect it to a file or a program');
  }
}

/** Fails with `usage` if `path` is a pipe, a terminal or the like: only standard output may be written to one. */
export async function requireFile(path: string): Promise<void> {
  // A missing file is created.
  const stats = await statsOf(path);
  if (!stats?.isFIFO() && !stats?.isSocket() && !stats?.isCharacterDevice()) return;
  const advice = 'give - as the output and redirect standard output to it';
  throw new DecantError('usage', `'${path}' is neither a regular file nor a block device; ${advice}`);
}

/** Returns standard output as a stream, from its current position. A slow reader does not block the process. */
export async function standardOutput(): Promise<WritableStream<Uint8Array>> {
  const stats = await promisify(fstat)(STDOUT);
  const isPipe = stats.isFIFO() || stats.isSocket();
  const stream: Writable = isPipe
    ? new Socket({ fd: STDOUT, readable: false, writable: true })
    : createWriteStream('', { fd: STDOUT });
  // Ignored: each write reports its error.
  stream.on('error', () => {});
  const settle = (resolve: () => void, reject: (error: Error) => void) => (error?: Error | null) =>
    error ? reject(fileError(error, 'target', 'write to standard output')) : resolve();
  return new WritableStream<Uint8Array>({
    // The signal aborts at once; a method `abort` would be called only after the pending write, which may never end.
    start: ({ signal }) => signal.addEventListener('abort', () => stream.destroy()),
    write: (bytes) => new Promise((resolve, reject) => stream.write(bytes, settle(resolve, reject))),
    close: () => new Promise((resolve, reject) => stream.end(settle(resolve, reject))),
  });
}
