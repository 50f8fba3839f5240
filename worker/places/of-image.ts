// The places of an image: the output for each, and why the disk does not fit.

import type { ImageSessions } from '../client-side/image-sessions.js';
import { type DecantError, toDecantError } from '../errors/errors.js';
import type { ConvertOptions } from '../public/caller-types.js';
import type { OutputFormat } from '../public/types.js';
import type { ImagePlace, Place } from '../public/types.places.js';
import { choiceFor, placeNamed, placeRefusal } from './choice.js';
import { PLACES } from './registry.js';

/**
 * Resolves to the format of a conversion with `for`. Fails with `usage` for an unknown place or a format that it does not accept,
 * and with `limit` if the disk exceeds a limit of the place.
 */
export async function formatFor(
  sessions: ImageSessions,
  options: ConvertOptions,
  signal: AbortSignal,
): Promise<OutputFormat & { formatOptions: Record<string, string> }> {
  const place = placeNamed(String(options.for));
  const { format, formatOptions } = choiceFor(place, options);
  const output = await sessions.output(format, formatOptions, signal);
  const refusal = placeRefusal(place, { virtualSize: sessions.info.virtualSize, outputSize: output.size });
  if (refusal) throw refusal;
  return { ...output, formatOptions };
}

/** Resolves to all places, with the output of this image for each. */
export const placesOf = (sessions: ImageSessions, signal: AbortSignal): Promise<ImagePlace[]> =>
  Promise.all(PLACES.map((place) => placeOf(place, sessions, signal)));

async function placeOf(place: Place, sessions: ImageSessions, signal: AbortSignal): Promise<ImagePlace> {
  const { formats, info } = sessions;
  const { format, formatOptions } = choiceFor(place, {});
  const { extension } = formats.find(({ name }) => name === format)!;
  const common = { name: place.name, label: place.label, format, formatOptions, extension };
  let output: OutputFormat;
  try {
    output = await sessions.output(format, formatOptions, signal);
  } catch (thrown) {
    const error = toDecantError(thrown);
    if (error.kind !== 'limit' && error.kind !== 'unsupported') throw error;
    return { ...common, notices: [], refusal: refusalOf(error) };
  }
  const { size, notices } = output;
  const refused = placeRefusal(place, { virtualSize: info.virtualSize, outputSize: size });
  return { ...common, notices, ...(size !== undefined && { size }), ...(refused && { refusal: refusalOf(refused) }) };
}

const refusalOf = ({ kind, code, fields, message }: DecantError) => ({ kind, code, fields, message });
