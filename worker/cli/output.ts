// Prints lines. Hidden characters are escaped, for people and in JSON alike: no text from an image or a name forges a
// line or reaches a terminal as an escape sequence.

import { escaped } from '../shown.js';

/** Prints a line to standard output. */
export const print = (line: string): void => void process.stdout.write(`${escaped(line)}\n`);

/** Resolves when everything has been handed to whoever reads it, or will not be. */
export async function printed(): Promise<void> {
  const flushed = (stream: NodeJS.WriteStream) => new Promise<void>((resolve) => stream.write('', () => resolve()));
  await Promise.all([process.stdout, process.stderr].filter(({ writable }) => writable).map(flushed));
}

/** Prints a message to stderr. */
export const tell = (line: string): void => void process.stderr.write(`decant: ${escaped(line)}\n`);
