// Decant in browsers. Nothing happens at import.

import { browser } from './api/browser.js';
import { type Image, openImage } from './api/image.js';
import { prepareWorkers } from './api/prepare.js';
import type { Input, OpenOptions, PrepareOptions } from './types.js';

export { canStore } from './api/can-store.js';
export type { Image } from './api/image.js';
export { copyLifetime } from './copy-lifetime.js';
export { DecantError, type ErrorKind } from './errors.js';
export { shownMessage, shownText } from './shown.js';
export { sweep as removeLeftovers } from './targets/storage.js';
export type * from './types.js';

/** Opens an image: recognises its format and reads its headers. Fails with a `DecantError`. */
export const open = (source: Input, options?: OpenOptions): Promise<Image> => openImage(browser, source, options);

/**
 * Loads the code and starts the workers that open and convert images, so that both begin without delay. Calling it is
 * optional. Workers that are not used within 10 seconds end again.
 */
export const prepare = (options?: PrepareOptions): Promise<void> => prepareWorkers(browser, options);
