// Times that a caller gives.

import { DecantError } from '../errors/errors.js';

/** The longest time that a timer can wait, in milliseconds: 24 days. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** `seconds` in milliseconds, for a timer. Fails with `usage` unless the option `name` is a number of seconds. */
export function milliseconds(name: string, seconds: number): number {
  if (typeof seconds === 'number' && seconds >= 0) return Math.min(LONGEST_TIMER, seconds * 1000);
  const given = typeof seconds === 'number' ? seconds : `a value of type ${seconds === null ? 'null' : typeof seconds}`;
  throw new DecantError('usage', `'${name}' must be a number of seconds, 0 or more, not ${given}`);
}
