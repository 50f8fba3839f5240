// Commands for a shell: words with placeholders, quoted for sh or PowerShell.

import { HIDDEN } from '../errors/shown.js';
import type { NextCommand } from '../public/types.places.js';

/** A word of a command, and the placeholders that it has. */
export class Word {
  constructor(
    readonly text: string,
    readonly placeholders: readonly string[] = [],
    /** Whether it is quoted even if it need not be: a person may replace a placeholder by hand. */
    readonly isQuoted = false,
  ) {}
}

type Part = string | number | Word;

const isWord = (value: unknown): value is Word => value instanceof Word;
const textOf = (part: Part): string => (isWord(part) ? part.text : String(part));

/** A word of texts and other words. */
export const word = (texts: TemplateStringsArray, ...parts: Part[]): Word =>
  new Word(
    String.raw({ raw: texts }, ...parts.map(textOf)),
    parts.filter(isWord).flatMap(({ placeholders }) => placeholders),
  );

/** `value` in JSON. It may contain words. */
export function json(value: unknown): Word {
  const placeholders: string[] = [];
  const text = JSON.stringify(value, (_, part: unknown) => {
    if (!isWord(part)) return part;
    placeholders.push(...part.placeholders);
    return part.text;
  });
  return new Word(text, placeholders);
}

/**
 * Returns a tag for the commands of a shell. The text of the template is a part of the command. Each `${...}` is a word, or the end of
 * one, and is quoted; of a list, each item is. A list may be empty.
 */
const commandsOf =
  (quoted: (text: string) => string, inQuotes: (text: string) => string) =>
  (texts: TemplateStringsArray, ...values: (Part | Part[])[]): NextCommand => {
    const shown = (part: Part) => (isWord(part) && part.isQuoted ? inQuotes : quoted)(textOf(part));
    let line = texts[0]!;
    for (const [at, value] of values.entries()) {
      if (!Array.isArray(value)) line += shown(value);
      else if (value.length > 0) line += value.map(shown).join(' ');
      else line = line.trimEnd();
      line += texts[at + 1]!;
    }
    const placeholders = values.flat().flatMap((part) => (isWord(part) ? part.placeholders : []));
    return { line, placeholders: [...new Set(placeholders)] };
  };

// Commands are shown, and copied.
const hasHidden = (text: string): boolean => text.search(HIDDEN) >= 0;

/**
 * Quotes `text` for bash and other shells of Unix. A text with hidden characters is written as `$'...'` with escapes, which dash
 * does not support.
 */
export const quotedForSh = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : inQuotesForSh(text));

function inQuotesForSh(text: string): string {
  if (!hasHidden(text)) return `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const escaped = text
    .replaceAll(/[\\']/g, String.raw`\$&`)
    .replaceAll(HIDDEN, (hidden) =>
      [...new TextEncoder().encode(hidden)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(''),
    );
  return `$'${escaped}'`;
}

/** Quotes `text` for PowerShell, which takes typographic quotes for quotes too. */
export const quotedForPowerShell = (text: string): string =>
  /^[\w./\\:-]+$/.test(text) ? text : inQuotesForPowerShell(text);

function inQuotesForPowerShell(text: string): string {
  if (!hasHidden(text)) return `'${text.replaceAll(/['‘’‚‛]/g, '$&$&')}'`;
  const escaped = text.replaceAll(/[`$"“”„]/g, '`$&').replaceAll(HIDDEN, (hidden) =>
    hidden
      .split('')
      .map((unit) => `$([char]0x${unit.charCodeAt(0).toString(16)})`)
      .join(''),
  );
  return `"${escaped}"`;
}

/** A command for sh. */
export const sh = commandsOf(quotedForSh, inQuotesForSh);
/** A command for PowerShell. */
export const powershell = commandsOf(quotedForPowerShell, inQuotesForPowerShell);

/** `command`, which prints the value of a later placeholder, `word`. */
export const printing = (command: NextCommand, { placeholders }: Word): NextCommand => ({
  ...command,
  prints: [...placeholders],
});

/** A comment. `text` is one line that needs no quotes. */
export const comment = (text: string): NextCommand => ({ line: `# ${text}`, placeholders: [] });
