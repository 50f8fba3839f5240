// Decant in browsers. Nothing happens at import.

import { type Image, openImage } from './image.js';
import { browser } from './platform/browser.js';
import type { OpenOptions, Source } from './types.js';

export { DecantError, type ErrorKind } from './errors.js';
export type { Image } from './image.js';
export { sweep as removeLeftovers } from './routes/storage.js';
export type * from './types.js';

/** Opens an image: recognises its format and reads its headers. */
export const open = (source: Source, options?: OpenOptions): Promise<Image> => openImage(browser, source, options);
