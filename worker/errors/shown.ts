// Makes foreign text safe to show: names from images, file names, typed text. In a terminal or a page, it must not move the
// cursor, forge a line, change the direction of the text around it, hide a part of itself or fill the screen.
//
// crate/src/error/shown.rs implements the same rule. The cases in crate/tests/shown.json test both.

import { withoutSecrets } from './secrets.js';

/**
 * Characters that are invisible or change the look of others: control characters, line and paragraph separators, default
 * ignorable characters (direction marks among them), annotation marks, and unpaired surrogates.
 */
export const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\p{DI}\p{Cs}\ufff9-\ufffb]/gu;

/** Returns `text` with hidden characters as JSON escapes, such as `\u001b`. */
export const escaped = (text: string): string =>
  text.replace(HIDDEN, (hidden) =>
    hidden
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );

/** The longest prefix of `characters` that has at most `most` characters once it is escaped. */
function fitting(characters: string[], most: number): string[] {
  let width = 0;
  const end = characters.map(escaped).findIndex((shown) => {
    width += [...shown].length;
    return width > most;
  });
  return end < 0 ? characters : characters.slice(0, end);
}

/**
 * Returns `given` without secrets, escaped, and cut to `most` characters: the first and the last ones, with `…` between them.
 */
function atMost(most: number, given: string): string {
  const text = withoutSecrets(given);
  // A character has at most two code units, so these are enough at each end.
  const units = 2 * most;
  const whole = text.length > units ? undefined : escaped(text);
  if (whole !== undefined && [...whole].length <= most) return whole;
  const half = Math.ceil(most / 2) - 1;
  const head = fitting([...text.slice(0, units)], half).join('');
  const tail = fitting([...text.slice(-units)].reverse(), half)
    .reverse()
    .join('');
  return `${escaped(head)}…${escaped(tail)}`;
}

/** Any value as text: callers of `shownText` may pass what they did not check. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return '';
  }
}

/**
 * Makes `text` safe to show: removes user, password and query from URLs in it, escapes hidden characters as `\u001b`, and
 * shortens it to 200 characters: up to 99 from its start, `…`, and up to 99 from its end.
 */
export const shownText = (text: string): string => atMost(200, textOf(text));

/** Makes a message safe to show, as `shownText` does, with at most 1,000 characters. */
export const shownMessage = (message: string): string => atMost(1000, textOf(message));

/** Quotes the first `most` of `names`, and says if there are others. */
export function shownNames(names: readonly string[], most: number): string {
  const quoted = names.slice(0, most).map((name) => `'${shownText(name)}'`);
  return quoted.join(', ') + (names.length > most ? ' and others' : '');
}
