// Functions of the package that need no image: `prepare`, `splitFiles`, `sha256`.

import { freeCoordinator, inAnyCoordinator } from '../client-side/coordinator.js';
import { startPool, WORTH_ALL } from '../client-side/pool.js';
import { orUsageError } from '../errors/argument-checks.js';
import { DecantError, toDecantError } from '../errors/errors.js';
import { loadPart } from '../errors/load-part.js';
import { isOf } from '../errors/values.js';
import type { PrepareOptions, Sha256Options } from '../public/types.js';
import { checkCall, settle } from './options.js';
import type { Platform } from './platform.js';
import { requireWhole } from './reading.js';
import { withProgress } from './whole-progress.js';

/** Starts the workers that open and convert images. Fails with a `DecantError`. */
export async function prepareWorkers(platform: Platform, options: PrepareOptions = {}): Promise<void> {
  checkCall('prepare', options);
  const { size = Number.POSITIVE_INFINITY } = options;
  if (size !== Number.POSITIVE_INFINITY) requireWhole('size', size);
  const { engine, workers } = settle(options, platform);
  const coordinator = freeCoordinator(platform).prepare();
  const pool = size < WORTH_ALL ? undefined : startPool(platform, engine, workers);
  await Promise.all([coordinator, pool]).catch((thrown) => {
    throw toDecantError(thrown);
  });
}

/** Finds split files among files with these `names`: see `splitFiles`. The core knows the names of parts. */
export async function findSplitFiles(platform: Platform, names: readonly string[]): Promise<number[][]> {
  const areTexts = (given: unknown) => Array.isArray(given) && given.every((name) => typeof name === 'string');
  if (!orUsageError('the names', () => areTexts(names))) {
    throw new DecantError('usage', 'splitFiles takes an array of names');
  }
  // A single file is not a split file.
  if (names.length < 2) return [];
  try {
    return await inAnyCoordinator(platform, (client) => client.call('splitFiles', [...names]));
  } catch (thrown) {
    throw toDecantError(thrown);
  }
}

/** See `sha256` of the package. */
export async function digest(platform: Platform, file: Blob, options: Sha256Options = {}): Promise<string> {
  checkCall('sha256', options);
  if (!orUsageError('the file', () => isOf<Blob>(file, 'Blob') || isOf<File>(file, 'File'))) {
    throw new DecantError('usage', 'sha256 takes a Blob or a File');
  }
  const { sha256Of } = await loadPart('digests', () => import('./sha256.js'));
  return withProgress(options.onProgress, async (onProgress) =>
    sha256Of(file, await platform.codec('crypt'), { ...options, onProgress }),
  );
}
