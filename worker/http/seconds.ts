// Times that a caller gives.

import { DecantError } from '../errors.js';

/** The longest time that a timer can wait, in milliseconds: 24 days. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** `seconds` in milliseconds, for a timer. Fails with `usage` where `name` is no number from 0 on. */
export function timeOf(name: string, seconds: number): number {
  if (seconds >= 0) return Math.min(LONGEST_TIMER, seconds * 1000);
  throw new DecantError('usage', `'${name}' is a number of seconds from 0 on, not ${seconds}`);
}
