// The built package, as tests in pages see it.

import type { Image } from '../../dist/browser.js';

type Package = typeof import('../../dist/browser.js');

/** `open` returns an `Image` here: a streamed image refuses the methods that it lacks. */
export type Decant = Omit<Package, 'open'> & { open(...given: Parameters<Package['open']>): Promise<Image> };
