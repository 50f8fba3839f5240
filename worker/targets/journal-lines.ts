// What a journal of a partial file says, in Node and in browsers: a line for the conversion, and one for each time at which
// more was certain to be there.

import type { Begun } from './route.js';

/** How long to wait before what is done is made certain once more: so many milliseconds, and as many times as it took. */
const INTERVAL = 500;
const TIMES = 10;

/** When to make certain what is done, after that took from `start` to `end`, in milliseconds. */
export const nextNote = (start: number, end: number): number => end + Math.max(INTERVAL, TIMES * (end - start));

export const lineOf = ({ guest, written }: Begun): string => `${guest} ${written}\n`;

/** The line for the conversion, and what is certain to be there; undefined where the text has not even the line. */
export function readLines(text: string): { head: string; begun: Begun | undefined } | undefined {
  // A line without an end was being written when the system stopped.
  const [head, ...lines] = text.split('\n').slice(0, -1);
  if (head === undefined) return undefined;
  return { head, begun: lines.map(begunOf).findLast((begun) => begun !== undefined) };
}

function begunOf(line: string): Begun | undefined {
  const [, guest, written] = /^(\d{1,16}) (\d{1,16})$/.exec(line) ?? [];
  return guest === undefined ? undefined : { guest: Number(guest), written: Number(written) };
}
