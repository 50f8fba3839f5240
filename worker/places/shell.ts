// Quotes words for shells. A file name may contain anything.

import { HIDDEN } from '../errors/shown.js';

// Commands are shown, and copied.
const hasHidden = (word: string): boolean => word.search(HIDDEN) >= 0;

/**
 * Quotes `word` for bash and other shells of Unix. A word with hidden characters is written as `$'...'` with escapes, which dash
 * does not support.
 */
export function quotedForSh(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (!hasHidden(word)) return `'${word.replaceAll("'", String.raw`'\''`)}'`;
  const escaped = word
    .replaceAll(/[\\']/g, String.raw`\$&`)
    .replaceAll(HIDDEN, (hidden) =>
      [...new TextEncoder().encode(hidden)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(''),
    );
  return `$'${escaped}'`;
}

/** Quotes `word` for PowerShell, which takes typographic quotes for quotes too. */
export function quotedForPowerShell(word: string): string {
  if (/^[\w./\\:-]+$/.test(word)) return word;
  if (!hasHidden(word)) return `'${word.replaceAll(/['‘’‚‛]/g, '$&$&')}'`;
  const escaped = word.replaceAll(/[`$"“”„]/g, '`$&').replaceAll(HIDDEN, (hidden) =>
    hidden
      .split('')
      .map((unit) => `$([char]0x${unit.charCodeAt(0).toString(16)})`)
      .join(''),
  );
  return `"${escaped}"`;
}
