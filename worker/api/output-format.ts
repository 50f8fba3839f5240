// The output format that a caller chooses.

import type { ImageSessions } from '../client-side/image-sessions.js';
import { DecantError } from '../errors/errors.js';
import { loadPart } from '../errors/load-part.js';
import type { ConvertOptions } from '../public/caller-types.js';
import type { OutputFormat } from '../public/types.js';
import { checkObject } from './options.js';

/** The format that `options` choose, and its options. */
export interface ChosenFormat extends OutputFormat {
  formatOptions: Record<string, string>;
}

/** Loads the code for places. */
export const loadPlaces = () => loadPart('places', () => import('../places/of-image.js'));

/**
 * Resolves to the format in `options`, as it is with the options given. Throws `usage` for an unknown format, option or place,
 * and why the disk does not fit the format or the place.
 */
export async function chosenFormat(
  sessions: ImageSessions,
  options: ConvertOptions,
  signal: AbortSignal,
): Promise<ChosenFormat> {
  checkObject('formatOptions', options.formatOptions ?? {});
  const { format = 'raw', formatOptions: given } =
    options.for === undefined ? options : await (await loadPlaces()).optionsFor(sessions, options, signal);
  const formatOptions = { ...given };
  for (const [name, value] of Object.entries(formatOptions)) {
    if (typeof value !== 'string') throw new DecantError('usage', `The option '${name}' must be a string`);
  }
  return { ...(await sessions.output(String(format), formatOptions, signal)), formatOptions };
}
