// Split files: which files are the parts of one, by their names.

import { DecantError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';

/** The name of a file as that of a part. */
interface Part {
  /** The name without the number. */
  stem: string;
  /** The number as it is written. */
  text: string;
  number: number;
  isNumbered: boolean;
}

/** `disk.raw.001` (HJSplit, 7-Zip), `disk.raw.part1`, `x00` (`split -d`). */
const NUMBERED = /^(.*\.(?=\d\d)|.*\.part|x(?=\d\d))(\d{1,9})$/i;
/** `xaa`, `disk.raw-ab` (`split`). After `yz` comes `zaaa`. */
const LETTERED = /^(.+?)(z[a-y][a-z]{2}|[a-y][a-z])$/;
/** The digits of the parts of OVF, which count from 0. */
const OVF_DIGITS = 9;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
/** The number of `zaaa`. */
const WIDE = 25 * LETTERS.length;

function partOf(name: string): Part | undefined {
  const base = name.replace(/^.*[\\/]/, '');
  const numbered = NUMBERED.exec(base);
  const [, stem, text] = numbered ?? LETTERED.exec(base) ?? [];
  if (stem === undefined || text === undefined) return undefined;
  return { stem, text, number: numbered ? Number(text) : numberOf(text), isNumbered: numbered !== null };
}

function numberOf(text: string): number {
  const isWide = text.length > 2;
  const digits = [...(isWide ? text.slice(1) : text)];
  return digits.reduce((sum, letter) => sum * LETTERS.length + LETTERS.indexOf(letter), 0) + (isWide ? WIDE : 0);
}

/** The name of the part with `number` of the file of `part`. */
function nameOf({ stem, text, isNumbered }: Part, number: number): string {
  if (isNumbered) return stem + String(number).padStart(text.length, '0');
  const isWide = number >= WIDE;
  let [rest, letters] = [isWide ? number - WIDE : number, ''];
  for (let place = isWide ? 3 : 2; place > 0; place -= 1) {
    letters = LETTERS[rest % LETTERS.length] + letters;
    rest = Math.floor(rest / LETTERS.length);
  }
  return stem + (isWide ? 'z' : '') + letters;
}

/** Finds split files: see `splitFiles`. */
export function findSplitFiles(names: readonly string[]): number[][] {
  const files = new Map<string, (Part & { at: number })[]>();
  for (const [at, name] of names.entries()) {
    const part = partOf(name);
    if (!part) continue;
    const file = `${part.stem}/${part.isNumbered}`;
    files.set(file, [...(files.get(file) ?? []), { ...part, at }]);
  }
  return [...files.values()].flatMap((parts) => {
    parts.sort((a, b) => a.number - b.number);
    const [first] = parts;
    return parts.length > 1 && first!.number <= Number(first!.isNumbered) ? [parts.map(({ at }) => at)] : [];
  });
}

/** An image's file as a part of a split file. */
export interface PartOfFile {
  /** Indexes of the next parts, without a gap unless one is missing. */
  next: number[];
  /** The name of the first missing part, if later ones are there. */
  missing?: string;
  /** If it is a later part: the name of the first, which may be a guess, and whether that is there. */
  first?: { name: string; isThere: boolean };
}

/**
 * Describes the first of the files with `names` as a part of a split file; `undefined` if it is none. Throws `usage` if several
 * are the same part.
 */
export function partAmong(names: string[]): PartOfFile | undefined {
  const part = partOf(names[0]!);
  const found = findSplitFiles(names).find((parts) => parts.includes(0));
  if (!part || !(found || part.isNumbered)) return undefined;
  const [first = 0, ...next] = found ?? [];
  if (first > 0) return { next: [], first: { name: names[first]!, isThere: true } };
  if (part.number > 1) {
    const name = nameOf(part, part.text.length === OVF_DIGITS ? 0 : 1);
    return { next: [], first: { name, isThere: false } };
  }
  const expected = next.map((_, at) => part.number + 1 + at);
  const wrong = next.findIndex((other, at) => partOf(names[other]!)!.number !== expected[at]);
  if (wrong < 0) return { next };
  if (partOf(names[next[wrong]!]!)!.number < expected[wrong]!) {
    const message = `'${shownText(names[next[wrong]!]!)}' matches more than one of the files, and is a part of the image`;
    throw new DecantError('usage', message);
  }
  return { next, missing: nameOf(part, expected[wrong]!) };
}
