// Browsers: how long the copy of a download stays in the private file system.

import { DecantError } from '../../errors/errors.js';

/** More than the time that a browser needs to start a download, in milliseconds. */
const TIME_TO_BEGIN = 120_000;
/** The speed of a slow disk, in bytes per millisecond. */
const SLOW_DISK = 20e6 / 1000;
/** The maximum delay of a timer, in milliseconds. */
const LONGEST = 2 ** 31 - 1;

/**
 * Returns how long the copy of a `{ download }` of `size` bytes stays in the browser's storage after the conversion, in
 * milliseconds: two minutes plus a second for each 20 MB, at most 24 days. Browsers have no event for the end of a download. Throws
 * `usage` unless `size` is a number, 0 or more.
 */
export function copyLifetime(size: number): number {
  if (typeof size !== 'number' || !(size >= 0)) throw new DecantError('usage', "'size' must be a number of bytes");
  return Math.min(TIME_TO_BEGIN + size / SLOW_DISK, LONGEST);
}
