// The names that a mistyped name may stand for.

import { DecantError } from '../errors/errors.js';
import { listed } from './wording.js';

/** The number of typing errors between `a` and `b`: a character that is missing, surplus or wrong, or two that are swapped. */
export function typingErrors(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i += 1) {
    const [row, above] = [[i], rows[i - 1]!];
    for (let j = 1; j <= b.length; j += 1) {
      const changed = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(Math.min(changed, above[j]! + 1, row[j - 1]! + 1, isSwapped ? rows[i - 2]![j - 2]! + 1 : changed));
    }
    rows.push(row);
  }
  return rows.at(-1)![b.length]!;
}

/** Longer names are not treated as typing errors. */
const MAX_LENGTH = 40;
/** From this length on, the start of a name is enough. */
const MIN_START = 3;
/** One typing error is accepted per this many characters. */
const PER_ERROR = 3;

/** The names in `known` that `typed` may stand for: those that start with it, else the nearest ones; none if all are far off. */
export function nearest(typed: string, known: readonly string[]): string[] {
  const given = typed.toLowerCase();
  if (given.length > MAX_LENGTH) return [];
  const continued = known.filter((name) => given.length >= MIN_START && name.toLowerCase().startsWith(given));
  if (continued.length > 0) return continued;
  const distances = known.map((name) => typingErrors(given, name.toLowerCase()));
  const least = Math.min(...distances);
  const accepted = Math.floor((given.length + 1) / PER_ERROR);
  return least <= accepted ? known.filter((_, at) => distances[at] === least) : [];
}

/** A question about the names in `known` that `typed` may stand for, with `before` each; `undefined` if there is none. */
export function didYouMean(typed: string, known: readonly string[], before = ''): string | undefined {
  const names = nearest(typed, known).map((name) => before + name);
  return names.length === 0 ? undefined : `did you mean ${listed(names, 'or')}?`;
}

/** The error `message`, with the names in `known` that `typed` may stand for; if there are none, with `otherwise`. */
export function mistyped(message: string, typed: string, known: readonly string[], otherwise?: string): DecantError {
  const rest = didYouMean(typed, known) ?? otherwise;
  return new DecantError('usage', [message, rest].filter((part) => part !== undefined).join('; '));
}
