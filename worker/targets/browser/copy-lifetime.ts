// Browsers: how long the copy of a download stays in the private file system.

/** More than the time that a browser needs to start a download, in milliseconds. */
const TIME_TO_BEGIN = 120_000;
/** The speed of a slow disk, in bytes per millisecond. */
const SLOW_DISK = 20e6 / 1000;
/** The maximum delay of a timer, in milliseconds. */
const LONGEST = 2 ** 31 - 1;

/**
 * Returns how long the copy of a `{ download }` of `size` bytes stays in the browser's storage after the conversion, in
 * milliseconds: two minutes plus a second for each 20 MB, at most 24 days. Browsers have no event for the end of a download.
 */
export const copyLifetime = (size: number): number => Math.min(TIME_TO_BEGIN + size / SLOW_DISK, LONGEST);

/** When the copy of a download of `size` bytes expires that is completed now. */
export const copyExpiry = (size: number): Date => new Date(Date.now() + copyLifetime(size));
