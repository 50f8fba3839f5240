// Split files: which files are the parts of one, by their names.

import { DecantError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import { BEFORE_NUMBER, type Reading, readingsOf } from './split-names.js';

/** A name, apart from its folder, and its index. */
interface Named {
  name: string;
  at: number;
}

/** A split file. */
interface SplitFile {
  /** Indexes of its parts in order; the first part is there. */
  parts: number[];
  /** The name of the first missing part, if later ones are there. */
  missing?: string;
  /** The index of a file that has the name of another one of its parts. */
  duplicate?: number;
  unclear?: Unclear;
}

/** Files may be the parts of one file, or of several with shorter numbers, and are complete in neither way. */
interface Unclear {
  /** How many are the parts of the first file then. */
  ofFirst: number;
  /** Whether that lacks a part between its others: so does the one file. */
  lacksPart: boolean;
}

/** A reading of the name of a first part, and the files that are parts then. */
interface Found {
  reading: Reading;
  /** Ascending by number. */
  parts: (Named & { number: number })[];
  /** How many different parts there are, and how many of them follow each other from the first. */
  total: number;
  run: number;
}

const baseOf = (name: string): string => name.replace(/^.*[\\/]/, '');

/** Finds split files: see `splitFiles`. */
export function findSplitFiles(names: readonly string[]): number[][] {
  const folders = new Map<string, Named[]>();
  for (const [at, path] of names.entries()) {
    const name = baseOf(path);
    const folder = path.slice(0, path.length - name.length);
    const files = folders.get(folder);
    if (files) files.push({ name, at });
    else folders.set(folder, [{ name, at }]);
  }
  return [...folders.values()].flatMap(filesIn).map(({ parts }) => parts);
}

function filesIn(folder: Named[]): SplitFile[] {
  const sorted = [...folder].sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  let files: SplitFile[] = [];
  /** Names of parts: such a one may look like a first part, too. */
  const taken = new Set<string>();
  for (const { name } of sorted) {
    if (taken.has(name)) continue;
    const found = readingsOf(name).map((reading) => partsBy(reading, sorted));
    if (found.length === 0) continue;
    const evident = found.filter(({ reading, run }) => reading.evidence && run > 0);
    const likely = evident.length > 0 ? evident : found;
    const best = likely.reduce((best, next) => (isBetter(next, best) ? next : best));
    const wider = unclearBy(best.reading, sorted);
    const { reading, parts, total, run } = wider?.found ?? best;
    if (parts.length < 2) continue;
    // The first of them were found before.
    if (wider) files = files.filter((file) => !file.parts.some((at) => parts.some((part) => part.at === at)));
    for (const part of parts) taken.add(part.name);
    const missing = run < total ? reading.before + reading.textOf(reading.first + run) + reading.after : undefined;
    const duplicate = parts.find(({ number }, at) => number === parts[at - 1]?.number)?.at;
    files.push({
      parts: parts.map(({ at }) => at),
      ...(missing === undefined ? {} : { missing }),
      ...(duplicate === undefined ? {} : { duplicate }),
      ...(wider && { unclear: wider.unclear }),
    });
  }
  return files;
}

/**
 * Finds the files that may be parts of one file with longer numbers, such as `sdaab` and `sdbaa`, if it is unclear whether they
 * are.
 */
function unclearBy({ wider }: Reading, sorted: Named[]): { found: Found; unclear: Unclear } | undefined {
  const found = wider && partsBy(wider.reading, sorted);
  if (!found || found.run === found.total) return undefined;
  const { group } = wider;
  const ofFirst = found.parts.filter(({ number }) => number < group);
  // Without the first letter, these are not the first parts.
  if (ofFirst.length === 0 || ofFirst.length === found.parts.length) return undefined;
  const numbers = [...new Set(found.parts.map(({ number }) => number))];
  const hasBefore = (number: number, at: number) => number % group === 0 || numbers[at - 1] === number - 1;
  if (numbers.every(hasBefore)) return undefined;
  const lacksPart = found.run > 0 && found.run <= ofFirst.at(-1)!.number;
  return { found, unclear: { ofFirst: ofFirst.length, lacksPart } };
}

function partsBy(reading: Reading, sorted: Named[]): Found {
  const { before, after, first, evidence } = reading;
  const parts: Found['parts'] = [];
  let isEvident = !evidence;
  for (const { name, at } of beginningWith(before, sorted)) {
    if (!name.endsWith(after) || name.length <= before.length + after.length) continue;
    const text = name.slice(before.length, name.length - after.length);
    const number = reading.numberOf(text);
    if (number === undefined || number < first) continue;
    isEvident ||= evidence!.test(text);
    parts.push({ name, at, number });
  }
  if (!isEvident) return { reading, parts: [], total: 0, run: 0 };
  parts.sort((a, b) => a.number - b.number);
  const numbers = [...new Set(parts.map(({ number }) => number))];
  const gap = numbers.findIndex((number, at) => number !== first + at);
  return { reading, parts, total: numbers.length, run: gap < 0 ? numbers.length : gap };
}

/** The names that begin with `start`, out of `sorted` ones. */
function beginningWith(start: string, sorted: Named[]): Named[] {
  const from = lowerBound(sorted, ({ name }) => name >= start);
  const to = lowerBound(sorted, ({ name }) => name >= start && !name.startsWith(start));
  return sorted.slice(from, to);
}

/** The index of the first of `sorted` that `isPast`; all after it are, too. */
function lowerBound(sorted: Named[], isPast: (named: Named) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isPast(sorted[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Whether `next` describes the files better than `best`, which is at least as likely. */
function isBetter(next: Found, best: Found): boolean {
  if (next.run !== best.run) return next.run > best.run;
  // Files that begin with `vmaaa` and `vmbaa` are probably two of names that end in `a` and `b`.
  const { before, exhausted } = best.reading;
  return next.total > best.total && (next.reading.before === before || best.run >= exhausted!);
}

/** An image's file as a part of a split file. */
export interface PartOfFile {
  /** Indexes of the next parts, without a gap unless one is missing. */
  next: number[];
  /** The name of the first missing part, if later ones are there. */
  missing?: string;
  /** If it is unclear whether they are parts of one file: the index of one that may be of another. */
  other?: number;
  /** If it is a later part: the name of the first, which may be a guess, and whether that is there. */
  first?: { name: string; isThere: boolean };
}

/** Names of parts with numbers. */
const NUMBERED = new RegExp(`^${BEFORE_NUMBER}(\\d{1,9})$`, 'i');
const ALONE_LETTERED = /.aa$/;
/** The digits of the parts of OVF, which count from 0. */
const OVF_DIGITS = 9;

/**
 * Describes the first of the files with `names` as a part of a split file; `undefined` if it is none. Their folders do not count.
 * Throws `usage` if several are the same part.
 */
export function partAmong(names: string[]): PartOfFile | undefined {
  const bases = names.map(baseOf);
  const files = filesIn(bases.map((name, at) => ({ name, at }))).filter(({ parts }) => parts.includes(0));
  const file = files.find(({ parts }) => parts[0] === 0) ?? files[0];
  if (!file) return partAlone(bases[0]!);
  const [first, ...next] = file.parts;
  if (file.unclear && !(first === 0 && file.unclear.lacksPart)) {
    const { ofFirst } = file.unclear;
    return { next: [], other: file.parts[file.parts.indexOf(0) < ofFirst ? ofFirst : 0]! };
  }
  if (first !== 0) return { next: [], first: { name: names[first!]!, isThere: true } };
  if (file.duplicate !== undefined) {
    const name = shownText(names[file.duplicate]!);
    throw new DecantError('usage', `'${name}' matches more than one of the files, and is a part of the image`);
  }
  return { next, ...(file.missing === undefined ? {} : { missing: file.missing }) };
}

function partAlone(name: string): PartOfFile | undefined {
  const [, before, text] = NUMBERED.exec(name) ?? [];
  if (text === undefined) return ALONE_LETTERED.test(name) ? { next: [] } : undefined;
  if (Number(text) <= 1) return { next: [] };
  const first = String(text.length === OVF_DIGITS ? 0 : 1).padStart(text.length, '0');
  return { next: [], first: { name: before + first, isThere: false } };
}
