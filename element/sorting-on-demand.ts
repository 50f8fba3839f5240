// Loads what sorts files when there are several: most people drop one.

import { DecantError } from 'decant';
import { alone, type Sorted } from './bundle.js';
import type { Given } from './given.js';

/** Fails with `internal` if the code cannot be loaded. */
async function load() {
  try {
    return await import('./sorting.js');
  } catch (cause) {
    const message = 'Could not load the code for several files; try again, or reload the page';
    throw new DecantError('internal', message, { code: 'module-not-loaded', cause });
  }
}

/** As `sort` of sorting.ts. */
export async function sort(files: Given[], signal: AbortSignal): Promise<Sorted> {
  const [first, ...others] = files;
  return first && others.length === 0 ? alone(first) : (await load()).sort(files, signal);
}

/** As `sortMore` of sorting.ts. */
export const sortMore = async (files: Given[], signal: AbortSignal): Promise<Sorted> =>
  (await load()).sortMore(files, signal);

/** As `sortImages` of sorting.ts. */
export const sortImages = async (files: Given[], signal: AbortSignal): Promise<Sorted> =>
  (await load()).sortImages(files, signal);
