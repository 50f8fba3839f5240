// Standard input as the image.

import { createReadStream, fstat } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { isatty } from 'node:tty';
import { promisify } from 'node:util';
import { DecantError } from '../errors/errors.js';

/** What stands for it as an image. */
export const STANDARD_INPUT = '-';

const STDIN = 0;

/**
 * Standard input as `open` takes it: a file or a block device that is read from its start by a path, so that it can be read at any position,
 * and anything else as a stream. Fails with `usage` if it is a terminal, and with `source` if it is a folder.
 */
export async function standardInput(): Promise<string | Readable> {
  if (isatty(STDIN)) {
    throw new DecantError('usage', 'Standard input is a terminal; redirect it from a file or a program');
  }
  const stats = await promisify(fstat)(STDIN);
  if (stats.isDirectory()) throw new DecantError('source', 'Standard input is a folder, not an image');
  if ((stats.isFile() || stats.isBlockDevice()) && (await isAtStart())) return '/dev/stdin';
  // Of what is neither a pipe nor a socket `process.stdin` may be a stream that just ends.
  return stats.isFIFO() || stats.isSocket() ? process.stdin : createReadStream('', { fd: STDIN });
}

/** Whether nobody has read a part of it, before this process for instance. Only Linux tells. */
async function isAtStart(): Promise<boolean> {
  const about = await readFile(`/proc/self/fdinfo/${STDIN}`, 'latin1').catch(() => '');
  return /^pos:\s*0$/m.test(about);
}
