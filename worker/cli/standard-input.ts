// Standard input as the image.

import { createReadStream, fstat } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { isatty } from 'node:tty';
import { promisify } from 'node:util';
import { DecantError } from '../errors/errors.js';
import { isUnsized } from '../sources/node/node-file.js';

/** The argument for standard input. */
export const STANDARD_INPUT = '-';

const STDIN = 0;

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
