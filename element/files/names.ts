// Names for the converted disk.

import { EXTENSIONS } from '../formats.js';
import { size as sizeText } from '../texts/english/amounts.js';
import type { AllTexts } from '../types.texts.js';
import { endingIn, isSameName } from './bundle.js';
import { isNamed } from './input-file.js';

/** The ends of names of disk images and of containers. */
const KNOWN_EXTENSION = endingIn(EXTENSIONS);

/** Whether the extension of `name` is that of a disk image, or of a container. */
export const hasImageName = (name: string): boolean => KNOWN_EXTENSION.test(name);

/** The longest name on common file systems, in bytes, minus `.crswap`, which Chromium appends while it writes. */
const MOST_BYTES = 255 - '.crswap'.length;
/** Characters that some common file system forbids. */
const FORBIDDEN = /[/\\:*?"<>|\p{Cc}]/u;
/** Characters that are invisible or change the direction of text. They are left out of suggested names. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/** Whether `name` is one of `taken`. Case and Unicode form are ignored, as in some file systems. */
export const isTaken = (name: string, taken: readonly string[]): boolean =>
  taken.some((other) => isSameName(other, name));

/** Removes all known extensions: `disk.raw.gz` becomes `disk`. */
function stemOf(name: string): string {
  const stem = name.replace(KNOWN_EXTENSION, '');
  return stem === name ? name : stemOf(stem);
}

/** The name of disk `number` in the archive `name`, without an extension. */
export const diskName = (name: string, number: number): string => `${stemOf(name)}-disk${number}`;

/** Maximum number of characters that a file name takes from a snapshot's name. */
const MOST_OF_STATE = 64;

/** The name of the snapshot `state` of the disk in the file `name`, without an extension. */
export const stateName = (name: string, state: string): string =>
  `${stemOf(name)}-${[...state].slice(0, MOST_OF_STATE).join('')}`;

const bytesOf = (name: string): number => new TextEncoder().encode(name).length;

/** Cuts `stem` to at most `most` bytes. */
function cut(stem: string, most: number): string {
  let fitting = stem;
  while (bytesOf(fitting) > most) fitting = [...fitting].slice(0, -1).join('');
  return fitting;
}

/** The name with `extension` for the disk in the image file `name`. It may equal the name of the image. */
export function plainName(name: string, extension: string): string {
  const visible = stemOf(name).replace(INVISIBLE, '');
  const stem = visible.replace(new RegExp(FORBIDDEN, 'gu'), '_') || 'disk';
  return `${cut(stem, MOST_BYTES - extension.length)}${extension}`;
}

/** A file that was made, and the size of its disk as in a name. */
interface MadeFile {
  file: string;
  size: string;
}

/** The size of a disk as in a file name: "21GB"; empty if it is not known. */
export const sizeInName = (bytes: number | undefined): string =>
  bytes === undefined ? '' : sizeText(bytes).replace(/\s/, '');

/**
 * Suggests a name with `extension` for the disk in the image file `name`: the plain one, or if it is among `sources`, one that
 * says that it is converted. If a disk of another size than `size` was made with this name, it gets its size. If it is then among
 * `sources` or `made`, it gets a number.
 */
export function suggestName(
  name: string,
  extension: string,
  sources: string[],
  made: readonly MadeFile[],
  size: string,
): string {
  const plain = plainName(name, extension);
  const usual = isTaken(plain, sources) ? withEnd(plain, '-converted') : plain;
  const same = made.find(({ file }) => isSameName(file, usual));
  const unnumbered = same && size && same.size !== size ? withEnd(usual, `-${size}`) : usual;
  const taken = [...sources, ...made.map(({ file }) => file)];
  // A download may get a slightly different name.
  const isFree = (name: string) => [name, downloadName(name)].every((one) => !isTaken(one, taken));
  let free = unnumbered;
  for (let number = 1; !isFree(free); number += 1) free = withEnd(unnumbered, `-${number}`);
  return free;
}

/**
 * The name that a browser gives to the download `name`, for which `nameProblem` finds no problem. Chromium removes leading
 * dots, and replaces white space at an end, `~` and format characters by `_`. White space is removed here.
 */
export const downloadName = (name: string): string =>
  name.replace(/^[.\s]+/, '').replace(/[~\p{Cf}\p{Noncharacter_Code_Point}]/gu, '_');

/** Inserts `ending` before the extensions of `name`, and shortens it if necessary. */
function withEnd(name: string, ending: string): string {
  const known = stemOf(name);
  const dot = known === name ? name.lastIndexOf('.') : known.length;
  const [stem, extensions] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  const end = `${ending}${extensions}`;
  return `${cut(stem, MOST_BYTES - bytesOf(end))}${end}`;
}

/** Numbers `name` so that it is neither among `taken` nor in `folder`. Does not list the folder. */
export async function freeNameIn(
  folder: FileSystemDirectoryHandle,
  name: string,
  taken: readonly string[],
): Promise<string> {
  let free = withEnd(name, '-1');
  for (let number = 2; isTaken(free, taken) || (await fileExists(folder, free)); number += 1)
    free = withEnd(name, `-${number}`);
  return free;
}

async function fileExists(folder: FileSystemDirectoryHandle, name: string): Promise<boolean> {
  try {
    await folder.getFileHandle(name);
    return true;
  } catch (thrown) {
    if (isNamed(thrown, 'NotFoundError')) return false;
    // There is a folder of this name.
    if (isNamed(thrown, 'TypeMismatchError')) return true;
    throw thrown;
  }
}

/** A problem with a name. `id` stays the same while the figures in the text change. */
export interface NameProblem {
  id: string;
  text: string;
}

export const problem = (text: string, id = text): NameProblem => ({ id, text });

/** Says why no file name can begin with `name`; `undefined` if one can. */
export function problemSoFar(name: string, texts: AllTexts): NameProblem | undefined {
  const bad = FORBIDDEN.exec(name)?.[0];
  if (bad) return problem(/\p{Cc}/u.test(bad) ? texts.controlInName : texts.badName(bad));
  const bytes = bytesOf(name);
  return bytes > MOST_BYTES ? problem(texts.longName(bytes, MOST_BYTES), 'long') : undefined;
}

/** Says why no file can have this name; `undefined` if one can. */
export function nameProblem(name: string, texts: AllTexts): NameProblem | undefined {
  if (name.trim() === '') return problem(texts.noName);
  return problemSoFar(name, texts) ?? (/[.\s]$/.test(name) ? problem(texts.nameEnd) : undefined);
}
