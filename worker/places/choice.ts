// Chooses the output format for a place (`for`), and checks whether a disk fits there.

import { shownValue } from '../errors/argument-checks.js';
import { DecantError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import { humanSize } from '../errors/sizes.js';
import type { Place, PlaceFormat } from '../public/types.places.js';
import { PLACES } from './registry.js';

/** Returns the place `name`, whatever a caller passes. Fails with `usage` (`unknown-place`) if there is none. */
export function placeNamed(name: string): Place {
  const place = PLACES.find((place) => place.name === name);
  if (place) return place;
  const names = PLACES.map(({ name }) => name).join(', ');
  const message = `There is no place '${shownText(name)}'; the places are ${names}`;
  throw new DecantError('usage', message, { code: 'unknown-place', fields: { place: shownValue(name) } });
}

export interface Choice {
  format: string;
  formatOptions: Record<string, string>;
}

/** The parts of a format that a caller has chosen. */
type WantedFormat = { [Part in keyof Choice]?: Choice[Part] | undefined };

/** As `choicesFor`, but returns the best one. */
export function choiceFor(place: Place, given: WantedFormat): Choice {
  const [best] = choicesFor(place, given);
  return best;
}

/**
 * Returns the formats that `place` accepts, each with its options, the best one first: all, or those that agree with `format` and
 * `formatOptions`, which the caller has chosen. Fails with `usage` (`place-format`) if the place accepts none of that kind.
 */
export function choicesFor(
  { name, label, formats: accepted }: Place,
  { format, formatOptions = {} }: WantedFormat,
): [Choice, ...Choice[]] {
  const agrees = ({ name, required }: PlaceFormat) =>
    (format === undefined || name === format) &&
    Object.entries(required).every(([option, value]) => (formatOptions[option] ?? value) === value);
  const choices = accepted.filter(agrees).map(
    ({ name, recommended, required }): Choice => ({
      format: name,
      formatOptions: { ...recommended, ...required, ...formatOptions },
    }),
  );
  const [best, ...others] = choices;
  if (best) return [best, ...others];
  const asked = [format, ...Object.entries(formatOptions).map(([option, value]) => `${option}=${value}`)];
  const message = `${label} does not accept ${shownText(asked.filter(Boolean).join(' '))}; it accepts ${listed(accepted)}`;
  throw new DecantError('usage', message, { code: 'place-format', fields: { place: name, format: format ?? '' } });
}

const listed = (formats: readonly PlaceFormat[]): string =>
  formats
    .map(({ name, required }) =>
      [name, ...Object.entries(required).map(([option, value]) => `(${option}=${value})`)].join(' '),
    )
    .join(', ');

/** Sizes in bytes, if they are known. */
interface KnownSizes {
  virtualSize?: number | undefined;
  outputSize?: number | undefined;
}

/** Returns the error for a disk that `place` does not accept; `undefined` if it is not known to exceed a limit. */
export function placeRefusal({ name, label, limits }: Place, sizes: KnownSizes): DecantError | undefined {
  for (const { of, min, max, source } of limits) {
    const size = of === 'disk' ? sizes.virtualSize : sizes.outputSize;
    if (size === undefined) continue;
    const isTooSmall = min !== undefined && size < min;
    if (!isTooSmall && (max === undefined || size <= max)) continue;
    const bound = isTooSmall ? `at least ${humanSize(min)}` : `at most ${humanSize(max!)}`;
    const message = `The ${of} has ${humanSize(size)}, but ${label} accepts ${bound}`;
    const fields = { place: name, of, size, ...(isTooSmall ? { min } : { max: max! }), source };
    return new DecantError('limit', message, { code: 'place-limit', fields });
  }
  return undefined;
}
