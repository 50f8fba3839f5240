// Sentences for errors and notices by their codes, which are those of docs/errors.md, and names in sentences.

import { type ErrorKind, type Fields, shownText } from 'decant';

/** A function returns `undefined` if there is no sentence for these fields. `kind` is the kind of an error. */
type Sentence = string | ((fields: Fields, kind?: ErrorKind) => string | undefined);
export type Sentences = Record<string, Sentence>;

/** Marks a missing field. A sentence with this mark is not shown. Names cannot contain the mark, since they are escaped. */
export const UNFILLED = '\u0000';

/** The text of `field`, escaped and cut: a name may contain anything. */
export const name = (field: Fields[string]): string => (field === undefined ? UNFILLED : shownText(String(field)));

/** Lists `names`; of more than five, the first four and `others`, which says how many more there are. */
export const listOf = (names: readonly string[], others: (more: number) => string): string =>
  names.length > 5
    ? `${names.slice(0, 4).map(shownText).join(', ')} ${others(names.length - 4)}`
    : names.map(shownText).join(', ');

/** Adds the name of the disk that `text` is about, if it is one of several. */
export const ofDisk = ({ disk }: Fields, text: string): string =>
  disk === undefined ? text : `${name(disk)}: ${text}`;

/** The text that `show` returns for `field`, a number of bytes. */
export const bytes = (field: Fields[string], show: (bytes: number) => string): string =>
  typeof field === 'number' ? show(field) : UNFILLED;

/** Returns the sentence for `code`, unless there is none or one of its fields is missing. */
export function found(sentences: Sentences, code: string, fields: Fields, kind?: ErrorKind): string | undefined {
  const sentence = Object.hasOwn(sentences, code) ? sentences[code] : undefined;
  const text = typeof sentence === 'function' ? sentence(fields, kind) : sentence;
  return text?.includes(UNFILLED) ? undefined : text;
}
