// Decant in Node. Nothing happens at import.

import { type Image, openImage } from './api/image.js';
import { node } from './api/node.js';
import { prepareWorkers } from './api/prepare.js';
import type { Input, OpenOptions, PrepareOptions } from './types.js';

export type { Image } from './api/image.js';
export { DecantError, type ErrorKind } from './errors.js';
export { shownMessage, shownText } from './shown.js';
export type * from './types.js';

/** Opens an image: recognises its format and reads its headers. Fails with a `DecantError`. */
export const open = (source: Input, options?: OpenOptions): Promise<Image> => openImage(node, source, options);

/**
 * Loads the code and starts the workers that open and convert images, so that both begin without delay. Calling it is
 * optional. Workers that are not used within 10 seconds end again.
 */
export const prepare = (options?: PrepareOptions): Promise<void> => prepareWorkers(node, options);
