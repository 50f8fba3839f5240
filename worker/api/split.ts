// Finds split files by their names.

import { acquireAnyCoordinator } from '../client-side/coordinator.js';
import { DecantError, toDecantError } from '../errors/errors.js';
import { orUsageError } from '../errors/option-names.js';
import type { Platform } from './platform.js';

/** Finds split files among files with these `names`: see `splitFiles`. The core knows the names of parts. */
export async function findSplitFiles(platform: Platform, names: readonly string[]): Promise<number[][]> {
  const areTexts = (given: unknown) => Array.isArray(given) && given.every((name) => typeof name === 'string');
  if (!orUsageError('the names', () => areTexts(names))) {
    throw new DecantError('usage', 'splitFiles takes an array of names');
  }
  // Without another file, none is split.
  if (names.length < 2) return [];
  const coordinator = acquireAnyCoordinator(platform);
  try {
    await coordinator.ready;
    return await coordinator.client.call('splitFiles', [...names]);
  } catch (thrown) {
    throw toDecantError(thrown);
  } finally {
    coordinator.release(true);
  }
}
