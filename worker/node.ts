// Decant in Node. Nothing happens at import.

import { type Image, openImage } from './image.js';
import { node } from './platform/node.js';
import type { OpenOptions, Source } from './types.js';

export { DecantError, type ErrorKind } from './errors.js';
export type { Image } from './image.js';
export type * from './types.js';

/** Opens an image: recognises its format and reads its headers. */
export const open = (source: Source, options?: OpenOptions): Promise<Image> => openImage(node, source, options);
