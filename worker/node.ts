// Decant in Node. Nothing happens at import.

import { disposeOfAll, openImage } from './api/image.js';
import { http, node } from './api/node-platform.js';
import { prepareWorkers } from './api/prepare.js';
import type { HttpOptions } from './http/types.js';
import type { PrepareOptions, Source } from './public/types.js';
import type { AnyImage, Input, OpenOptions, TargetKind } from './public/types.node.js';
import { openHttp } from './sources/open-http.js';

export { configure } from './api/node-files.js';
export { DecantError, type DecantErrorOptions, type ErrorKind, type Failure, type Fields } from './errors/errors.js';
export { shownMessage, shownText } from './errors/shown.js';
export { RequestLimit } from './http/host.js';
export type { AddressOptions, Fetch, HttpHeaders, HttpOptions, Waiting } from './http/types.js';
export type * from './public/types.js';
export type * from './public/types.node.js';
export { copyLifetime } from './targets/browser/copy-lifetime.js';

/**
 * Opens an image: recognises its format and reads its headers. It is an `Image`, or a `StreamedImage` if its bytes come
 * only in order. Fails with a
 * `DecantError`.
 */
export const open = (source: Input, options?: OpenOptions): Promise<AnyImage> =>
  openImage(node, source, options) as Promise<AnyImage>;

/**
 * A file on a server as a source: for `open`, and as a companion. It is fetched by ranges, as they are needed. Every answer is
 * checked to be of one state of the file; what fails and may pass is tried again. A large file of a server that sends only whole
 * files is read once, in order, by one `open`. Fails with `source` where the server does not answer, and with `unsupported` where
 * it sends a large file as a whole and does not say its size.
 */
export const httpSource = (url: string | URL, options?: HttpOptions): Promise<Source> => openHttp(http, url, options);

/**
 * Loads the code and starts the workers that open and convert images, so that both begin without delay. Calling it is
 * optional. Workers that are not used within 10 seconds end again. Fails with a `DecantError`.
 */
export const prepare = (options?: PrepareOptions): Promise<void> => prepareWorkers(node, options);

/**
 * Closes all images and ends all workers, and so gives their memory back. What is under way fails. The package can be used
 * again afterwards.
 */
export const dispose = (): Promise<void> => disposeOfAll();

/** Browsers: whether the private file system takes a file of `size` bytes. Node has none: resolves to `false`. */
export const canStore = async (_size: number): Promise<boolean> => false;

/** Browsers: removes temporary files of tabs that were closed. Node has none: nothing happens. */
export const removeLeftovers = async (): Promise<void> => {};

/** What can be converted to: in Node all that there is. */
export const targets = async (): Promise<TargetKind[]> => [{ name: 'path' }, { name: 'stream' }, { name: 'target' }];
