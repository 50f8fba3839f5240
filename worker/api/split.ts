// Whether files may be parts of a split one. The code for them is loaded then.

import { DecantError } from '../errors/errors.js';
import { loadPart } from '../errors/load-part.js';
import { orUsageError } from '../errors/option-names.js';

/** The names of parts, except those that end in letters after the first, `aa`. */
const MAY_BE_PART = /(\.|x|part)[\da-f]*\d[\da-f]*$|(^|[\\/])x\d+\.|aa(\.\w+)?$/i;

export const mayBeSplit = (names: readonly string[]): boolean => names.some((name) => MAY_BE_PART.test(name));

/**
 * Finds split files among files with these names or paths, such as `disk.raw.001` and `disk.raw.002`. Resolves to the indexes of
 * the parts of each in order, if there are at least two in one folder and the first is among them; others may be missing. Fails
 * with `usage` unless `names` is an array of strings, and with `internal` if the code cannot be loaded.
 */
export async function splitFiles(names: readonly string[]): Promise<number[][]> {
  const areTexts = (given: unknown) => Array.isArray(given) && given.every((name) => typeof name === 'string');
  if (!orUsageError('the names', () => areTexts(names))) {
    throw new DecantError('usage', 'splitFiles takes an array of names');
  }
  if (!mayBeSplit(names)) return [];
  const { findSplitFiles } = await loadPart('split files', () => import('./split-files.js'));
  return findSplitFiles(names);
}
