// The package in browsers. Importing it has no effects.

import { browser, http } from './api/browser-platform.js';
import { openImageOn } from './api/opening.js';
import { digest, findSplitFiles, prepareWorkers } from './api/without-image.js';
import type { HttpOptions } from './http/http-types.js';
import type { AnyImage, Input, Leftover, OpenOptions } from './public/types.browser.js';
import type { PrepareOptions, Sha256Options, Source } from './public/types.js';
import { openServerFile } from './sources/inputs.js';
import { sweepStorage } from './targets/browser/storage.js';
import { listLeftovers } from './targets/browser/stored-output.js';

export { configure } from './api/browser-files.js';
export * from './api/exports.js';
export { targets } from './api/page-targets.js';
export type * from './public/types.browser.js';

/**
 * Opens an image: recognises its format and reads its headers. Resolves to a `DiskImage`, or to a `StreamedImage` if it can only
 * be read in order. Fails with a `DecantError`.
 */
const openImage = (input: Input, options?: OpenOptions): Promise<AnyImage> =>
  openImageOn(browser, input, options) as Promise<AnyImage>;
export { openImage as open };

/**
 * Opens a file on a server as a source, for `open` or as a companion. Ranges are fetched when they are needed. Every response
 * is checked to come from the same state of the file. Temporary failures are retried. If the server sends only whole files, a
 * large file can be opened only once and is read in order. Fails with `source` if the server does not respond, and with
 * `unsupported` if it sends only whole files and does not state the size of a large one.
 */
export const httpSource = (url: string | URL, options?: HttpOptions): Promise<Source> =>
  openServerFile(http, url, options);

/**
 * Starts the workers in advance, so that images open and convert without delay. Optional. Workers that are not used within 10
 * seconds end. Fails with a `DecantError`.
 */
export const prepare = (options?: PrepareOptions): Promise<void> => prepareWorkers(browser, options);

/**
 * Finds split files among files with these names or paths, such as `disk.raw.001` and `disk.raw.002`. Resolves to the indexes of
 * the parts of each in order, if there are at least two in one folder and the first is among them; others may be missing. Fails
 * with `usage` unless `names` is an array of strings, and with `internal` if the worker that is asked does not start.
 */
export const splitFiles = (names: readonly string[]): Promise<number[][]> => findSplitFiles(browser, names);

/**
 * Computes the SHA-256 of a file, as 64 hexadecimal digits in lower case. Reads it once, in pieces. Fails with `cancelled`, and
 * with `source` if the file cannot be read.
 */
export const sha256 = (file: Blob, options?: Sha256Options): Promise<string> => digest(browser, file, options);

/**
 * Lists the parts of disks that conversions with `resume` left in the browser's storage, without those that a conversion is
 * using. Each can be discarded. Empty if the page has no storage.
 */
export const leftovers = (): Promise<Leftover[]> => listLeftovers();

/** Removes temporary files of closed tabs. Progress that a conversion with `resume` can continue stays for a week. */
export const removeLeftovers = (): Promise<void> => sweepStorage();
