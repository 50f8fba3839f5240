// Loads code when it is needed.

import { DecantError } from 'decant';

/** Fails with `internal` if the code for `what` cannot be loaded. */
export async function loadPart<T>(what: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const message = `Could not load the code for ${what}; try again, or reload the page`;
    throw new DecantError('internal', message, { code: 'module-not-loaded', cause });
  }
}
