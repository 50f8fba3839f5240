// Loads what sorts files when there are several: most people drop one.

import { alone, type Sorted } from './bundle.js';
import type { Given } from './given.js';
import { loadPart } from './load-part.js';

const load = () => loadPart('several files', () => import('./sorting.js'));

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
