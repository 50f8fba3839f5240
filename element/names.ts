// Names for the converted disk.

import type { Image } from 'decant';
import type { Texts } from './texts/english.js';

/** An extension that images of any format have. */
const ANY_IMAGE = '.img';
/** Characters that a common file system does not take. */
const FORBIDDEN = /[/\\:*?"<>|\p{Cc}]/u;
/** Characters that are invisible or change the direction of text. No suggested name has them. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/** Whether `name` is one of `taken`. Case is ignored, as in some file systems. */
const isTaken = (name: string, taken: string[]): boolean =>
  taken.some((other) => other.toLowerCase() === name.toLowerCase());

/** `name` without an extension of images: of `image`'s own format, or of one that it can be converted to. */
function withoutExtension(name: string, { info, outputs }: Image): string {
  const known = [ANY_IMAGE, ...outputs.map(({ extension }) => extension)];
  const whole = name.toLowerCase();
  const extension = whole.slice(whole.lastIndexOf('.'));
  // Formats have short extensions too: `.qcow` stands for qcow2.
  const isOwn = extension.length > 2 && `.${info.format}`.startsWith(extension);
  const longest = known.filter((one) => whole.endsWith(one)).sort((a, b) => b.length - a.length)[0];
  return isOwn ? name.slice(0, -extension.length) : longest ? name.slice(0, -longest.length) : name;
}

/** A name with `extension` for the disk in the image file `name`. It is none of `taken`. */
export function suggestName(name: string, image: Image, extension: string, taken: string[]): string {
  const visible = withoutExtension(name, image).replace(INVISIBLE, '');
  const stem = visible.replace(new RegExp(FORBIDDEN, 'gu'), '_') || 'disk';
  const plain = `${stem}${extension}`;
  let free = plain;
  for (let number = 1; isTaken(free, taken); number += 1) free = numbered(plain, number);
  return free;
}

/** `name` with the extension `after` instead of `before`. Any other extension is the person's, and stays. */
export const withExtension = (name: string, before: string, after: string): string =>
  name.toLowerCase().endsWith(before) ? `${name.slice(0, -before.length)}${after}` : name;

/** `name` with a number before its extension. */
function numbered(name: string, number: number): string {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? `${name.slice(0, dot)}-${number}${name.slice(dot)}` : `${name}-${number}`;
}

/** `name` with the lowest number that makes it none of `taken` and no name in `folder`. Does not list the folder. */
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

/** Why no file can have this name; `undefined` if one can. */
export function nameProblem(name: string, texts: Texts): string | undefined {
  if (name.trim() === '') return texts.noName;
  const bad = FORBIDDEN.exec(name)?.[0];
  if (bad) return /\p{Cc}/u.test(bad) ? texts.controlInName : texts.badName(bad);
  return /^\.+$|[. ]$/.test(name) ? texts.nameEnd : undefined;
}
