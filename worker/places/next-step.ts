// The step after a conversion: commands that bring the file to its place.

import { orUsageError } from '../errors/argument-checks.js';
import { DecantError } from '../errors/errors.js';
import { HIDDEN } from '../errors/shown.js';
import { isObject } from '../errors/values.js';
import type { MadeDisk, NextStep } from '../public/types.places.js';
import { extensionOf, PLACES, type Words } from './registry.js';

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

const EXTENSION = /(?:\.tar\.gz|\.raw\.gz|\.[^.]*)$/i;

/**
 * Returns the commands that bring the converted disk `made` to `place`, the name of a place, in order. The file's name is quoted
 * for the shell, whatever it contains. Returns `undefined` for a place without commands, and for an unknown one. Throws `usage` if
 * an argument has the wrong type.
 */
export function nextStep(place: string, made: MadeDisk): NextStep | undefined {
  if (typeof place !== 'string') throw new DecantError('usage', 'The place must be a string');
  checkMade(made);
  const next = PLACES.find(({ name }) => name === place)?.next;
  if (!next) return undefined;
  const { shell = 'sh', replace = [], commands } = next;
  const quoted = shell === 'sh' ? quotedForSh : quotedForPowerShell;
  // No program takes it for an option.
  const path = made.file.startsWith('-') ? `./${made.file}` : made.file;
  const name = machineName(made.file);
  const object = `${name}.${extensionOf(made.format)}`;
  const words: Words = { ...made, path: quoted(path), listed: quoted(path.replaceAll(',', ',,')), name, object };
  return { shell, commands: commands(words), replace };
}

function checkMade(made: unknown): void {
  orUsageError('the converted disk', () => {
    const { file, format, size, virtualSize } = isObject(made) ? (made as Record<string, unknown>) : {};
    const [texts, sizes] = [
      [file, format],
      [size, virtualSize],
    ];
    if (texts.every((text) => typeof text === 'string') && sizes.every((size) => Number.isSafeInteger(size))) return;
    throw new DecantError(
      'usage',
      'nextStep takes a place, and { file, format, size, virtualSize } of the converted disk',
    );
  });
}

/** Returns a name that all places accept: at most 60 lower-case letters, digits and dashes, beginning with a letter. */
function machineName(file: string): string {
  const stem = file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1).replace(EXTENSION, '');
  const plain = stem
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '');
  return plain.slice(0, 60).replace(/-+$/, '') || 'disk';
}
