// Decant in browsers. Nothing happens at import.

import { type Image, openImage } from './image.js';
import { browser } from './platform/browser.js';
import { prepareWorkers } from './prepare.js';
import type { OpenOptions, PrepareOptions, Source } from './types.js';

export { DecantError, type ErrorKind } from './errors.js';
export type { Image } from './image.js';
export { sweep as removeLeftovers } from './routes/storage.js';
export type * from './types.js';

/** Opens an image: recognises its format and reads its headers. */
export const open = (source: Source, options?: OpenOptions): Promise<Image> => openImage(browser, source, options);

/**
 * Loads and starts what opens and converts images, so that both begin at once. It need not be called; what
 * is not used within 10 seconds ends again.
 */
export const prepare = (options?: PrepareOptions): Promise<void> => prepareWorkers(browser, options);
