// The built package, as tests in pages see it.

import type { DiskImage } from '../../dist/browser.js';

type Package = typeof import('../../dist/browser.js');

/** `open` returns a `DiskImage` here: a streamed image refuses the methods that it lacks. */
export type Decant = Omit<Package, 'open'> & { open(...given: Parameters<Package['open']>): Promise<DiskImage> };
