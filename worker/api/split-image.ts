// An image whose file may be a part of a split file.

import { ImageSession, type ImageSetup } from '../client-side/image-session.js';
import { DecantError, type ErrorKind, toDecantError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import type { Bytes, Notice } from '../public/types.js';
import type { Sources } from '../sources/sources.js';
import { type PartOfFile, partAmong } from './split-files.js';

/** A text at an offset of a file. */
type Sign = [offset: number, text: string];

/** Signatures of compressed files: gzip, xz, zstd and lz4 with their skippable frames, bzip2, and lz4 as by `lz4 -l`. */
const COMPRESSED: Sign[] = [
  [0, '\x1f\x8b\x08'],
  [0, '\xfd7zXZ\0'],
  [0, '\x28\xb5\x2f\xfd'],
  [1, '\x2a\x4d\x18'],
  [0, 'BZh'],
  [0, '\x04\x22\x4d\x18'],
  [0, '\x02\x21\x4c\x18'],
];
/** Signatures of raw disks: of boot sectors, GPT, ext2 to ext4, XFS, Btrfs, LVM and swap areas. */
const RAW: Sign[] = [
  [510, '\x55\xaa'],
  [512, 'EFI PART'],
  [1080, '\x53\xef'],
  [0, 'XFSB'],
  [65_600, '_BHRfS_M'],
  [512, 'LABELONE'],
  [4086, 'SWAPSPACE2'],
];
/** All of them are in the first bytes, so many. */
const REACH = 66_000;
/** Formats of disks whose end nothing shows. */
const ENDLESS: string[] = ['raw', 'luks'];

/** How an image whose name is that of a part is described. */
export interface SplitImage {
  /** The notices about it, if it is a disk in `format`, in no container. */
  noticesOf(format: string): Notice[];
  /** Names the first part in the error for an image that is not recognised, or asks for all parts if it is truncated. */
  explain(error: DecantError): DecantError;
}

/**
 * Finds the other parts of the image in `setup` among its sources, which have these `names`, and joins them from then on. Resolves
 * to `undefined` if it is not named as a part, or is a stream. Fails with `missing-file` if a part between others is missing, with
 * `corrupt` if a part has the wrong size, and with `usage` if the image is stated to be raw and is a later part, if two files are
 * one part, if the files may be parts or whole ones, or if they may be parts of one file or of two.
 */
export async function splitImage(
  setup: ImageSetup,
  names: string[],
  signal: AbortSignal | undefined,
): Promise<SplitImage | undefined> {
  const { sources, settings } = setup;
  const part = partAmong(names);
  // A stream cannot be joined.
  if (!part || 'stream' in sources.image.spec) return undefined;
  const { next, first, other } = part;
  if (other !== undefined && !(await areImages(setup, other, signal))) throw unclear(names[0]!, names[other]!);
  if (settings.format === 'raw' && first?.isThere)
    throw laterPart('usage', 'The disk does not begin in this file', first.name);
  const isJoined = next.length > 0 && !(await areImages(setup, next[0]!, signal));
  if (isJoined) {
    if (await beginAlike(setup, next[0]!, signal)) throw ambiguous(names[0]!, names[next[0]!]!);
    checkParts(part, names, sources);
    sources.join(next);
  }
  const parts = isJoined ? [names[0]!, ...next.map((at) => names[at]!)] : [names[0]!];
  return {
    noticesOf: (format) => (ENDLESS.includes(format) ? [isJoined ? unchecked(parts) : alone(names[0]!)] : []),
    explain(error) {
      // Of a companion.
      if (error.fields.file !== undefined) return error;
      if (error.kind === 'not-recognised' && first)
        return laterPart(error.kind, 'The file is not in a format that Decant recognises', first.name);
      // The other parts are images, too.
      const isFirst = !first && (isJoined || next.length === 0);
      return error.code === 'truncated' && isFirst ? incomplete(error, parts) : error;
    },
  };
}

const alone = (file: string): Notice => ({
  code: 'part-alone',
  fields: { first: file },
  message: `By its name, '${shownText(file)}' is a part of a split file; it is read as the whole disk`,
});

const describe = (parts: string[]) => ({ first: parts[0]!, last: parts.at(-1)!, count: parts.length });

function unchecked(parts: string[]): Notice {
  const { first, last, count } = describe(parts);
  const message = `The disk is read from ${count} files, '${shownText(first)}' to '${shownText(last)}', as the parts of one; nothing in them shows that they belong together, or whether the last one is there`;
  return { code: 'parts-unchecked', fields: { first, last, count }, message };
}

/** The error for the first parts of a split file, joined or a single one, which end too early: `truncated`. */
function incomplete(truncated: DecantError, parts: string[]): DecantError {
  const { first, last, count } = describe(parts);
  const what =
    count === 1
      ? `'${shownText(first)}' is the first part`
      : `'${shownText(first)}' to '${shownText(last)}' are the first parts`;
  const message = `The image is truncated; by ${count === 1 ? 'its name' : 'their names'}, ${what} of a split file: open all parts together`;
  const fields = { ...truncated.fields, first, last, count };
  return new DecantError('corrupt', message, { code: 'parts-needed', fields, cause: truncated });
}

/** The error for files that begin alike: the parts of one file may do so, but whole ones do. */
function ambiguous(first: string, second: string): DecantError {
  const message = `'${shownText(first)}' and '${shownText(second)}' are named as parts of one file, but each begins like a whole one; to read one of them, pass it without the others (to the command, by standard input); if they are parts, join them first`;
  return new DecantError('usage', message, { code: 'parts-ambiguous', fields: { first, second } });
}

/** The error for files of which it is unclear whether they are parts of one file. */
function unclear(first: string, second: string): DecantError {
  const message = `'${shownText(first)}' and '${shownText(second)}' may be parts of one file or of two, and others are missing; put all parts of the image, and no others, into a folder`;
  return new DecantError('usage', message, { code: 'parts-ambiguous', fields: { first, second } });
}

/** The error, which begins with `message`, for a later part of the split file that begins with `first`. */
function laterPart(kind: ErrorKind, message: string, first: string): DecantError {
  const advice = `by its name, it is a later part of a split file: open the first part, '${shownText(first)}', with the others`;
  return new DecantError(kind, `${message}; ${advice}`, { code: 'later-part', fields: { first } });
}

/** Whether the image and the part after it are images in one format: each is an image by itself then, such as two overlays. */
async function areImages(setup: ImageSetup, second: number, signal: AbortSignal | undefined): Promise<boolean> {
  const format = await formatOf(setup, second, signal);
  return format !== undefined && format === (await formatOf(setup, 0, signal));
}

/**
 * Whether the image and the part after it have a signature in common. So do copies of a disk; but also the parts of some disks,
 * such as of an XFS that is split into its allocation groups, and files that were compressed after the split.
 */
async function beginAlike(setup: ImageSetup, second: number, signal: AbortSignal | undefined): Promise<boolean> {
  const signs = setup.settings.format === 'raw' ? [...COMPRESSED, ...RAW] : COMPRESSED;
  const isAt = (start: Bytes, at: number, text: string) =>
    [...text].every((letter, next) => start[at + next] === letter.charCodeAt(0));
  const has = (start: Bytes) => signs.filter(([at, text]) => isAt(start, at, text));
  const ofSecond = has(await startOf(setup, second, signal));
  if (ofSecond.length === 0) return false;
  const ofFirst = has(await startOf(setup, 0, signal));
  return ofSecond.some((sign) => ofFirst.includes(sign));
}

/** The first bytes of the file with this index in the sources of `setup`. */
async function startOf(setup: ImageSetup, at: number, signal = new AbortController().signal): Promise<Bytes> {
  // Containers are not searched in a file that is stated to be raw.
  const settings = { ...setup.settings, format: 'raw', disk: undefined, snapshot: undefined };
  const session = await ImageSession.open({ ...setup, settings, sources: setup.sources.alone(at) }, signal);
  try {
    const { client, image, opened } = session;
    const length = Math.min(REACH, opened.info.virtualSize ?? 0);
    if (length === 0) return new Uint8Array(0);
    return await session.run(signal, (operation) => client.call('read', { operation, image, offset: 0, length }));
  } finally {
    await session.end();
  }
}

/** The format of the file with this index in the sources of `setup`, if it is an image. */
async function formatOf(setup: ImageSetup, at: number, signal: AbortSignal | undefined): Promise<string | undefined> {
  const settings = { ...setup.settings, format: undefined, disk: undefined, snapshot: undefined };
  try {
    const session = await ImageSession.open({ ...setup, settings, sources: setup.sources.alone(at) }, signal);
    await session.end();
    return session.opened.comesInOrder ? undefined : session.opened.info.format;
  } catch (thrown) {
    if (toDecantError(thrown).kind === 'cancelled') throw thrown;
    return undefined;
  }
}

function checkParts({ next, missing }: PartOfFile, names: string[], { all }: Sources): void {
  if (missing !== undefined) {
    const message = `'${shownText(missing)}', a part of the image, is missing; open all parts again, together with it`;
    const fields = { file: missing, role: 'part', neededBy: names[0]! };
    throw new DecantError('missing-file', message, { fields });
  }
  const parts = [0, ...next];
  const at = wrongSize(parts.map((at) => all[at]!.size ?? 0));
  if (at < 0) return;
  const file = names[parts[at]!]!;
  const message = `The image is corrupt: its part '${shownText(file)}' has another size than those before it`;
  throw new DecantError('corrupt', message, { code: 'piece-damaged', fields: { file } });
}

/** The index of the first part that cannot have its size; -1 if all can. */
export function wrongSize(sizes: number[]): number {
  const first = sizes[0]!;
  // `split -n` puts the bytes that remain into the last part, or newer versions one into each of the first parts.
  const descends = sizes.every((size, at) => at === 0 || size <= sizes[at - 1]!);
  if (descends && sizes.at(-1)! + 1 >= first) return -1;
  const isLast = (at: number) => at === sizes.length - 1;
  return sizes.findIndex((size, at) => (isLast(at) ? size >= first + sizes.length : size !== first));
}
