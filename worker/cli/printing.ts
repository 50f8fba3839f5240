// Prints lines. Hidden characters are escaped, for people and in JSON alike: no text from an image or a name forges a
// line or reaches a terminal as an escape sequence.

import { escaped } from '../errors/shown.js';

/** Where something is printed. A disk may go to standard output otherwise, which then is not to be touched. */
const streams = new Set<NodeJS.WriteStream>([process.stderr]);

function write(stream: NodeJS.WriteStream, text: string): void {
  streams.add(stream);
  stream.write(text);
}

/** Prints a line to standard output. */
export const print = (line: string): void => write(process.stdout, `${escaped(line)}\n`);

/** Resolves when everything has been handed to whoever reads it, or will not be. */
export async function flushed(): Promise<void> {
  const flushed = (stream: NodeJS.WriteStream) => new Promise<void>((resolve) => stream.write('', () => resolve()));
  await Promise.all([...streams].filter(({ writable }) => writable).map(flushed));
}

/** Prints a message to stderr. */
export const report = (line: string): void => write(process.stderr, `decant: ${escaped(line)}\n`);
