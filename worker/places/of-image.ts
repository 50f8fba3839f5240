// The places of an image: the output for each, and why the disk does not fit.

import type { ImageSessions } from '../client-side/image-sessions.js';
import { type DecantError, refusalOf, toDecantError } from '../errors/errors.js';
import type { SettledOptions } from '../public/caller-types.js';
import type { OutputFormat } from '../public/types.js';
import type { ImagePlace, Place } from '../public/types.places.js';
import { type Choice, choiceFor, choicesFor, placeNamed, placeRefusal } from './choice.js';
import { PLACES } from './registry.js';

/**
 * Resolves to the format of a conversion with `for`. Fails with `usage` for an unknown place or a format that it does not accept,
 * and with `limit` if the disk exceeds a limit of the place or of its formats.
 */
export async function formatFor(
  sessions: ImageSessions,
  options: SettledOptions,
  signal: AbortSignal,
  diskSize?: number,
): Promise<OutputFormat & { formatOptions: Record<string, string> }> {
  const place = placeNamed(options.for!);
  const describe: Describe = (choice) => sessions.output(choice.format, choice.formatOptions, signal, diskSize);
  const virtualSize = diskSize ?? sessions.info.virtualSize;
  const { output, formatOptions, refusal } = await outputFor(place, options, describe, virtualSize);
  if (!output || refusal) throw refusal;
  return { ...output, formatOptions };
}

/** Returns the format that a conversion with `for` tries first. Fails with `usage` as `formatFor` does. */
export const choiceOf = (options: SettledOptions): Choice => choiceFor(placeNamed(options.for!), options);

/** Whether the place `name` refuses sparse files. Fails with `usage` if there is no such place. */
export const refusesSparse = (name: string): boolean => placeNamed(name).refusesSparse === true;

/** Whether outputs for the place `name` are verified by default. Fails with `usage` if there is no such place. */
export const verifies = (name: string): boolean => placeNamed(name).verify === true;

/** Resolves to all places, with the output of this image for each. */
export function placesOf(sessions: ImageSessions, signal: AbortSignal): Promise<ImagePlace[]> {
  // Many places accept the same output: each is described once.
  const described = new Map<string, Promise<OutputFormat>>();
  const describe: Describe = ({ format, formatOptions }) => {
    const key = JSON.stringify([format, formatOptions]);
    const output = described.get(key) ?? sessions.output(format, formatOptions, signal);
    described.set(key, output);
    return output;
  };
  return Promise.all(PLACES.map((place) => placeOf(place, sessions, describe)));
}

async function placeOf(place: Place, sessions: ImageSessions, describe: Describe): Promise<ImagePlace> {
  const { format, formatOptions, output, refusal } = await outputFor(place, {}, describe, sessions.info.virtualSize);
  const { extension } = sessions.opened.formats.find(({ name }) => name === format)!;
  const { outputSize, notices = [] } = output ?? {};
  return {
    name: place.name,
    label: place.label,
    format,
    formatOptions,
    extension,
    notices,
    ...(outputSize !== undefined && { outputSize }),
    ...(refusal && { refusal: refusalOf(refusal) }),
  };
}

/** Describes the output of an image in a format. Fails if the format cannot hold the disk. */
type Describe = (choice: Choice) => Promise<OutputFormat>;

/** A format for a place. */
interface PlaceOutput extends Choice {
  /** The output in this format; missing if the format cannot hold the disk. */
  output?: OutputFormat;
  /** Why the disk does not fit. */
  refusal?: DecantError;
}

/** Resolves to the best format for `place` that the disk fits in. If there is none, resolves to the best one, and its refusal. */
async function outputFor(
  place: Place,
  options: SettledOptions,
  describe: Describe,
  virtualSize: number | undefined,
): Promise<PlaceOutput> {
  let best: PlaceOutput | undefined;
  for (const choice of choicesFor(place, options)) {
    const made = await outputOf(choice, place, describe, virtualSize);
    if (!made.refusal) return made;
    best ??= made;
  }
  return best!;
}

async function outputOf(
  choice: Choice,
  place: Place,
  describe: Describe,
  virtualSize: number | undefined,
): Promise<PlaceOutput> {
  try {
    const output = await describe(choice);
    const refusal = placeRefusal(place, { virtualSize, outputSize: output.outputSize });
    return { ...choice, output, ...(refusal && { refusal }) };
  } catch (thrown) {
    const refusal = toDecantError(thrown);
    if (refusal.kind !== 'limit' && refusal.kind !== 'unsupported') throw refusal;
    return { ...choice, refusal };
  }
}
