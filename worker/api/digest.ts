// Computes digests of files. The code for them is loaded then.

import { loadPart } from '../errors/load-part.js';
import type { DigestOptions } from '../public/types.js';
import type { Platform } from './platform.js';

/** See `sha256` of the package. */
export async function digest(platform: Platform, file: Blob, options: DigestOptions = {}): Promise<string> {
  const { sha256Of } = await loadPart('digests', () => import('./sha256.js'));
  return sha256Of(file, await platform.codec('crypt'), options);
}
