// Lists of names in messages.

import { shownText } from './shown.js';

/** Quotes the first `most` of `names`, and says if there are others. */
export function shownNames(names: readonly string[], most: number): string {
  const quoted = names.slice(0, most).map((name) => `'${shownText(name)}'`);
  return quoted.join(', ') + (names.length > most ? ' and others' : '');
}
