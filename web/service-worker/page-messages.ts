// Shared by the page and its service worker: the messages about a streamed download, a lock, and the names of caches.

/** Increase this when a message changes. A page and a service worker of different versions do not work together. */
export const VERSION = 2;

/** A question of the page, sent with a port for the answer. */
export type Ask =
  /** Answered with the `VERSION` of the worker. */
  | { ask: 'version' }
  /** Answered with whether the download `id` is under way; keeps the worker alive. */
  | { ask: 'alive'; id: string }
  /** Opens a download, whose messages follow on the port. */
  | { ask: 'download'; id: string; name: string; size: number | undefined };

/** From the page: bytes in ascending order, then either `end` or `fail`. */
export type FromPage = { bytes: ArrayBuffer } | { end: true } | { fail: string };

/** To the page. */
export type ToPage =
  /** The browser may request the download now. */
  | { ready: true }
  /** The browser has requested the download, and shows it in its list. */
  | { begun: true }
  /** The browser has taken this many more bytes. */
  | { taken: number }
  /** The browser has all bytes. */
  | { complete: true }
  /** The person has cancelled the download, or the browser has ended it. */
  | { cancelled: true }
  /** The reason why the download has failed. */
  | { failed: string };

/** The path of downloads, relative to the scope of the service worker. */
export const DOWNLOADS = 'download/';

/** The name of the Web Lock that is held during a download. While it is held, the service worker is not replaced. */
export const DOWNLOADING = 'decant:download';

/** Returns the prefix of the names of a page's caches. It sets them apart from caches of other pages of the origin. */
export const cachePrefix = (scope: string): string => `decant ${scope} `;
