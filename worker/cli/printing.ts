// Prints lines. Escapes hidden characters, in JSON too, so that no text from an image or a name can forge a line or send an
// escape sequence to a terminal.

import { escaped } from '../errors/shown.js';
import type { Extent, LostRange } from '../public/types.js';

/** Streams in use. Standard output is not among them while a disk is written to it. */
const streams = new Set<NodeJS.WriteStream>([process.stderr]);

function write(stream: NodeJS.WriteStream, text: string): void {
  streams.add(stream);
  stream.write(text);
}

/** Prints a line to standard output. */
export const print = (line: string): void => write(process.stdout, `${escaped(line)}\n`);

/** Resolves when all output has been written, or cannot be. */
export async function flushed(): Promise<void> {
  const flushed = (stream: NodeJS.WriteStream) => new Promise<void>((resolve) => stream.write('', () => resolve()));
  await Promise.all([...streams].filter(({ writable }) => writable).map(flushed));
}

/** Prints a message to stderr. */
export const report = (line: string): void => write(process.stderr, `decant: ${escaped(line)}\n`);

/** Prints a line of the help to stderr, because the command is wrong. */
export const reportHelp = (line: string): void => write(process.stderr, `${escaped(line)}\n`);

/** The maximum number of listed ranges. */
export const MAX_LISTED = 10_000;

type Lost = Pick<Extent, 'offset' | 'length' | 'message'> & Pick<LostRange, 'disk'>;

export const reportLost = ({ offset, length, message = '', disk }: Lost): void =>
  report(`lost: ${length} bytes at ${offset}${disk === undefined ? '' : ` of disk ${disk}`}: ${message}`);

/** Reports lost ranges: those in `lost` up to the maximum, and how many of all `count` are not listed. */
export function reportLostRanges(lost: readonly Lost[], count: number): void {
  const listed = lost.slice(0, MAX_LISTED);
  for (const range of listed) reportLost(range);
  reportUnlisted(count - listed.length);
}

/** Reports the number of unlisted ranges, if any. */
export function reportUnlisted(ranges: number): void {
  if (ranges > 0) report(`lost: ${ranges} more ${ranges === 1 ? 'range' : 'ranges'}, not listed`);
}
