// Validates time-outs.

import { DecantError } from '../errors/errors.js';

/** The limit of a timer, in milliseconds: 24 days. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** Converts the option `name` to milliseconds, at most `LONGEST_TIMER`. Fails with `usage` unless it is a number, 0 or more. */
export function milliseconds(name: string, seconds: number): number {
  if (typeof seconds === 'number' && seconds >= 0) return Math.min(LONGEST_TIMER, seconds * 1000);
  const given = typeof seconds === 'number' ? seconds : `a value of type ${seconds === null ? 'null' : typeof seconds}`;
  throw new DecantError('usage', `'${name}' must be a number of seconds, 0 or more, not ${given}`);
}
