// The format of the output that the options of a conversion choose.

import type { ImageSessions } from '../client-side/image-sessions.js';
import { loadPart } from '../errors/load-part.js';
import type { SettledOptions } from '../public/caller-types.js';
import type { OutputFormat } from '../public/types.js';

/** The format that `options` choose, and its options. */
export interface ChosenFormat extends OutputFormat {
  formatOptions: Record<string, string>;
}

/** Loads the code for places. */
export const loadPlaces = () => loadPart('places', () => import('../places/of-image.js'));

/**
 * Resolves to the description of the format in `options`, with its options. Throws `usage` for an unknown format, option or
 * place, and if the disk does not fit the format or the place. `diskSize`: the size of a streamed disk, if it was determined.
 */
export async function chosenFormat(
  sessions: ImageSessions,
  options: SettledOptions,
  signal: AbortSignal,
  diskSize?: number,
): Promise<ChosenFormat> {
  const { format = 'raw', formatOptions: given = {}, size = diskSize } = options;
  const formatOptions = { ...given };
  if (options.for !== undefined)
    return (await loadPlaces()).formatFor(sessions, { ...options, formatOptions }, signal, size);
  return { ...(await sessions.output(format, formatOptions, signal, size)), formatOptions };
}
