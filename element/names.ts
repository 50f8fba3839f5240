// Names for the converted disk.

import type { AllTexts } from './types.texts.js';

/** Extensions of disk images and of containers. */
const KNOWN = /\.(?:bz2|dd|gz|img|iso|ova|qcow2?|qed|raw|tar|tgz|vdi|vhdx?|vmdk|xz|zip|zst)$/i;
/** The longest name on common file systems, in bytes, minus `.crswap`, which Chromium appends while it writes. */
const MOST_BYTES = 255 - '.crswap'.length;
/** Characters that some common file system forbids. */
const FORBIDDEN = /[/\\:*?"<>|\p{Cc}]/u;
/** Characters that are invisible or change the direction of text. They are left out of suggested names. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/** Whether `name` is one of `taken`. Case is ignored, as in some file systems. */
const isTaken = (name: string, taken: string[]): boolean =>
  taken.some((other) => other.toLowerCase() === name.toLowerCase());

/** Removes all known extensions: `disk.raw.gz` becomes `disk`. */
function stemOf(name: string): string {
  const stem = name.replace(KNOWN, '');
  return stem === name ? name : stemOf(stem);
}

const bytesOf = (name: string): number => new TextEncoder().encode(name).length;

/** Cuts `stem` to at most `most` bytes. */
function cut(stem: string, most: number): string {
  let fitting = stem;
  while (bytesOf(fitting) > most) fitting = [...fitting].slice(0, -1).join('');
  return fitting;
}

/** The bytes that are reserved for a number in a name. */
const NUMBER = 6;

/** Suggests a name with `extension` for the disk in the image file `name`, and avoids the names in `taken`. */
export function suggestName(name: string, extension: string, taken: string[]): string {
  const visible = stemOf(name).replace(INVISIBLE, '');
  const stem = visible.replace(new RegExp(FORBIDDEN, 'gu'), '_') || 'disk';
  const plain = `${cut(stem, MOST_BYTES - NUMBER - extension.length)}${extension}`;
  let free = plain;
  for (let number = 1; isTaken(free, taken); number += 1) free = numbered(plain, number);
  return free;
}

/**
 * The name that a browser gives to the download `name`, for which `nameProblem` finds no problem. Chromium removes leading
 * dots, and replaces white space at an end, `~` and format characters by `_`. White space is removed here.
 */
export const downloadName = (name: string): string =>
  name.replace(/^[.\s]+/, '').replace(/[~\p{Cf}\p{Noncharacter_Code_Point}]/gu, '_');

/** Replaces known extensions of `name` by `extension`. Keeps any other one, which the person has typed. */
export const withExtension = (name: string, extension: string): string =>
  stemOf(name) === name ? name : `${stemOf(name)}${extension}`;

/** Inserts `number` before the extensions of `name`. */
function numbered(name: string, number: number): string {
  const stem = stemOf(name);
  const dot = stem === name ? name.lastIndexOf('.') : stem.length;
  return dot > 0 ? `${name.slice(0, dot)}-${number}${name.slice(dot)}` : `${name}-${number}`;
}

/** Numbers `name` so that it is neither among `taken` nor in `folder`. Does not list the folder. */
export async function freeNameIn(folder: FileSystemDirectoryHandle, name: string, taken: string[]): Promise<string> {
  let free = numbered(name, 1);
  for (let number = 2; isTaken(free, taken) || (await isThere(folder, free)); number += 1)
    free = numbered(name, number);
  return free;
}

async function isThere(folder: FileSystemDirectoryHandle, name: string): Promise<boolean> {
  try {
    await folder.getFileHandle(name);
    return true;
  } catch (thrown) {
    if (thrown instanceof DOMException && thrown.name === 'NotFoundError') return false;
    // There is a folder of this name.
    if (thrown instanceof DOMException && thrown.name === 'TypeMismatchError') return true;
    throw thrown;
  }
}

/** Says why no file name can begin with `name`; `undefined` if one can. */
export function problemSoFar(name: string, texts: AllTexts): string | undefined {
  const bad = FORBIDDEN.exec(name)?.[0];
  if (bad) return /\p{Cc}/u.test(bad) ? texts.controlInName : texts.badName(bad);
  const bytes = bytesOf(name);
  return bytes > MOST_BYTES ? texts.longName(bytes, MOST_BYTES) : undefined;
}

/** Says why no file can have this name; `undefined` if one can. */
export function nameProblem(name: string, texts: AllTexts): string | undefined {
  if (name.trim() === '') return texts.noName;
  return problemSoFar(name, texts) ?? (/[.\s]$/.test(name) ? texts.nameEnd : undefined);
}
