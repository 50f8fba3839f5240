// A disk for questions that any image answers.

import { type AnyImage, type OpenOptions, open } from '../node.js';

/** Fits every output format. */
const SIZE = 1 << 20;

/** Opens an empty raw disk. */
export const openAnyDisk = (options: OpenOptions): Promise<AnyImage> =>
  open(new Uint8Array(SIZE), { format: 'raw', ...options });
