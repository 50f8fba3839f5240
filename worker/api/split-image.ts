// An image whose file may be a part of a split file.

import { ImageSession, type ImageSetup } from '../client-side/image-session.js';
import { DecantError, type ErrorKind, toDecantError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import type { Notice } from '../public/types.js';
import type { Sources } from '../sources/sources.js';
import { type PartOfFile, partAmong } from './split-files.js';

/** Signatures at the start of raw disks, with their offsets: of boot sectors, GPT, ext2 to ext4, XFS and LVM. */
const SIGNS: [number, string][] = [
  [510, '\x55\xaa'],
  [512, 'EFI PART'],
  [1080, '\x53\xef'],
  [0, 'XFSB'],
  [512, 'LABELONE'],
];
/** All of them are in the first bytes, so many. */
const REACH = 2048;

/** How an image in parts is described. */
export interface SplitImage {
  /** The notice about it, if it is a raw disk: nothing shows where that ends. */
  notice: Notice;
  /** Names the first part in the error for an image that is not recognised, if the image is a later part. */
  explain(error: DecantError): DecantError;
}

const NOTICE: Notice = {
  code: 'parts-unchecked',
  fields: {},
  message: 'The disk is split into several files; nothing in them shows whether the last one is there',
};

/**
 * Finds the other parts of the image in `setup` among its sources, which have these `names`, and joins them from then on. Resolves
 * to `undefined` if it is not named as a part, or is a stream. Fails with `missing-file` if a part between others is missing, with `corrupt` if a
 * part has the wrong size, and with `usage` if the image is stated to be raw and is a later part, or if two files are one part.
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
  const { next, first } = part;
  if (settings.format === 'raw' && first?.isThere)
    throw laterPart('usage', 'The disk does not begin in this file', first.name);
  if (next.length > 0 && !(await areImages(setup, next[0]!, signal))) {
    checkParts(part, names, sources);
    sources.join(next);
  }
  const explain = (error: DecantError): DecantError => {
    if (error.kind !== 'not-recognised' || !first) return error;
    return laterPart(error.kind, 'The file is not in a format that Decant recognises', first.name);
  };
  return { notice: NOTICE, explain };
}

/** The error, which begins with `message`, for a later part of the split file that begins with `first`. */
function laterPart(kind: ErrorKind, message: string, first: string): DecantError {
  const advice = `by its name, it is a later part of a split file: open the first part, '${shownText(first)}', with the others`;
  return new DecantError(kind, `${message}; ${advice}`, { code: 'later-part', fields: { first } });
}

/**
 * Whether the image and the part after it are images in one format: each is an image by itself then, such as two overlays, or two
 * copies of a raw disk.
 */
async function areImages(setup: ImageSetup, second: number, signal: AbortSignal | undefined): Promise<boolean> {
  const format = await formatOf(setup, second, signal);
  if (format !== undefined) return format === (await formatOf(setup, 0, signal));
  if (setup.settings.format !== 'raw') return false;
  const [start, other] = [await startOf(setup, 0, signal), await startOf(setup, second, signal)];
  return SIGNS.some(([at, sign]) => [start, other].every((text) => text.startsWith(sign, at)));
}

/** The first bytes of the file with this index in the sources of `setup`, a character for each. */
async function startOf(setup: ImageSetup, at: number, signal = new AbortController().signal): Promise<string> {
  const session = await ImageSession.open({ ...setup, sources: setup.sources.alone(at) }, signal);
  try {
    const { client, image, opened } = session;
    const length = Math.min(REACH, opened.info.virtualSize ?? 0);
    if (length === 0) return '';
    const request = (operation: number) => client.call('read', { operation, image, offset: 0, length });
    return String.fromCharCode(...(await session.run(signal, request)));
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
    const message = `'${shownText(missing)}', a part of the image, is missing; pass it together with the others`;
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
