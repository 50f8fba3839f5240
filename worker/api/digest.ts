// Computes digests of files. The code for them is loaded then.

import { DecantError } from '../errors/errors.js';
import { loadPart } from '../errors/load-part.js';
import { orUsageError } from '../errors/option-names.js';
import { isOf } from '../errors/values.js';
import type { DigestOptions } from '../public/types.js';
import { checkCall } from './options.js';
import type { Platform } from './platform.js';

/** See `sha256` of the package. */
export async function digest(platform: Platform, file: Blob, options: DigestOptions = {}): Promise<string> {
  checkCall('sha256', options);
  if (!orUsageError('the file', () => isOf<Blob>(file, 'Blob') || isOf<File>(file, 'File'))) {
    throw new DecantError('usage', 'sha256 takes a Blob or a File');
  }
  const { sha256Of } = await loadPart('digests', () => import('./sha256.js'));
  return sha256Of(file, await platform.codec('crypt'), options);
}
