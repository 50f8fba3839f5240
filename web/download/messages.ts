// The messages between a page and its service worker about a streamed download.

/** To be increased when a message changes. A page and a service worker of different versions do not work together. */
export const VERSION = 2;

/** What a page asks. A port for the answer comes with each question. */
export type Ask =
  /** Answered with the worker's `VERSION`. */
  | { ask: 'version' }
  /** Answered with whether the download `id` is under way; keeps the worker alive. */
  | { ask: 'alive'; id: string }
  /** Opens a download. Its messages follow on the port. */
  | { ask: 'download'; id: string; name: string; size: number | undefined };

/** From the page: the bytes in ascending order, then either `end` or `fail`. */
export type FromPage = { bytes: ArrayBuffer } | { end: true } | { fail: string };

/** To the page. */
export type ToPage =
  /** The browser may request the download now. */
  | { ready: true }
  /** The browser has requested the download: it is in its list. */
  | { begun: true }
  /** How many more bytes the browser has taken. */
  | { taken: number }
  /** The browser has all of it. */
  | { complete: true }
  /** The person has cancelled the download, or the browser has given it up. */
  | { cancelled: true }
  /** The download has failed, and why. */
  | { failed: string };

/** The path of downloads, below the scope of the service worker. */
export const PLACE = 'download/';
