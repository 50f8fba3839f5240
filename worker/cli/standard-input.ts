// Standard input as the image.

import { Readable } from 'node:stream';
import { isatty } from 'node:tty';
import { DecantError } from '../errors.js';

/** What stands for it as an image. */
export const STANDARD_INPUT = '-';

const STDIN = 0;

/** Standard input as a stream. Fails with `usage` if it is a terminal. */
export function standardInput(): ReadableStream<Uint8Array> {
  if (isatty(STDIN)) {
    throw new DecantError('usage', 'Standard input is a terminal; redirect it from a file or a program');
  }
  return Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>;
}
