// Browsers: how long a download's copy stays in the private file system.

/** In milliseconds: longer than a browser takes to begin a download. */
const TIME_TO_BEGIN = 120_000;
/** In bytes for each millisecond: a slow disk takes all of the copy. */
const SLOW_DISK = 20e6 / 1000;
/** In milliseconds: the longest time that a timer takes. */
const LONGEST = 2 ** 31 - 1;

/**
 * How long the copy of a `{ download }` of `size` bytes stays in the browser's storage after the conversion, in
 * milliseconds: two minutes and a second for each 20 MB, 24 days at most. No event tells when a download has ended.
 */
export const copyLifetime = (size: number): number => Math.min(TIME_TO_BEGIN + size / SLOW_DISK, LONGEST);
