// Parts of the package that are separate files.

import { DecantError, reasonOf } from './errors.js';

/**
 * Resolves to the result of `load`, which imports the code for `purpose`. Fails with `internal` if it cannot be loaded. That
 * is not final: most browsers fetch the file again.
 */
export async function loadPart<T>(purpose: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const message = `Could not load the code for ${purpose}: ${reasonOf(cause)}; try again, or reload the page`;
    throw new DecantError('internal', message, { code: 'module-not-loaded', cause });
  }
}
