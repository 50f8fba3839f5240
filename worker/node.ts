// Decant in Node. Nothing happens at import.

import { type Image, openImage } from './image.js';
import { node } from './platform/node.js';
import { prepareWorkers } from './prepare.js';
import type { OpenOptions, PrepareOptions, Source } from './types.js';

export { DecantError, type ErrorKind } from './errors.js';
export type { Image } from './image.js';
export type * from './types.js';

/** Opens an image: recognises its format and reads its headers. */
export const open = (source: Source, options?: OpenOptions): Promise<Image> => openImage(node, source, options);

/**
 * Loads and starts what opens and converts images, so that both begin at once. It need not be called; what
 * is not used within 10 seconds ends again.
 */
export const prepare = (options?: PrepareOptions): Promise<void> => prepareWorkers(node, options);
