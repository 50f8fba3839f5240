// The places that disks go to: what the package writes to there, and what a failure leaves.

import { DecantError, type Output } from 'decant';
import { isAlike } from './given.js';
import type { Stage } from './stage.js';
import type { Place } from './state.js';
import type { DiskToSave } from './types.js';
import type { AllTexts } from './types.texts.js';

/** What the package writes to at a place. */
interface Opened {
  output: Output;
  /** Cancels the conversion. */
  signal: AbortSignal;
  /** For a stream: how many bytes the browser has taken. */
  taken?: () => number;
}

/** Opens `place` for `disk`. `ended` cancels the conversion, and so does a cancel in the browser's list of downloads. */
export async function outputAt(
  place: Place,
  disk: DiskToSave,
  ended: AbortSignal,
  { host, texts }: Stage,
): Promise<Opened> {
  switch (place.kind) {
    case 'folder':
      return { output: { folder: place.folder, name: place.name }, signal: ended };
    case 'dialog':
      return { output: place.handle, signal: ended };
    case 'stored':
      return { output: { download: place.name }, signal: ended };
    case 'streamed':
      try {
        const stream = await host.streamedDownloads!.open(place.name, disk.format.size, ended);
        const signal = AbortSignal.any([ended, stream.cancelled]);
        return { output: stream.writable, signal, taken: () => stream.taken() };
      } catch (cause) {
        throw new DecantError('target', texts.noStream((cause as Error).message), { code: 'from-page', cause });
      }
    case 'host':
      try {
        return { output: await host.output!(disk), signal: ended };
      } catch (cause) {
        if (DecantError.is(cause)) throw cause;
        throw new DecantError('target', (cause as Error).message, { code: 'from-page', cause });
      }
  }
}

/**
 * A sentence on what a conversion that did not succeed has left at `place`; `undefined` where only the page knows. `isKept`
 * says whether what is done is kept, to be gone on with.
 */
export async function leftBehind(place: Place, isKept: boolean, texts: AllTexts): Promise<string | undefined> {
  switch (place.kind) {
    case 'stored':
      return isKept ? texts.partKept : texts.nothingLeft;
    case 'streamed':
      // Chromium leaves nothing. Firefox and WebKit leave a part of the file.
      return texts.streamLeft(place.name);
    case 'folder':
      return leftInFolder(place, texts);
    case 'dialog':
      // The browser has made this file: if it is missing, it was moved.
      return (
        (await leftIn(place.handle, place.name, undefined, texts)) ?? texts.fileMoved(place.name, swapOf(place.name))
      );
    case 'host':
      return undefined;
  }
}

/** What Chromium calls the file that it writes beside `name` until that is complete. */
const swapOf = (name: string): string => `${name}.crswap`;

async function leftInFolder(
  { folder, name, replaces }: Extract<Place, { kind: 'folder' }>,
  texts: AllTexts,
): Promise<string> {
  try {
    const left = await leftIn(await folder.getFileHandle(name), name, replaces, texts);
    if (left !== undefined) return left;
  } catch (thrown) {
    if (!isMissing(thrown)) return texts.unknownLeft(name);
  }
  if (await isThere(folder)) return texts.nothingLeft;
  return texts.folderMoved(folder.name, name, swapOf(name), replaces !== undefined);
}

/** What is left in a file; `undefined` if there is none. `before` is the file that was there. */
async function leftIn(
  handle: FileSystemFileHandle,
  name: string,
  before: File | undefined,
  texts: AllTexts,
): Promise<string | undefined> {
  try {
    const now = await handle.getFile();
    if (before && isAlike(now, before)) return texts.asItWas(name);
    return now.size === 0 ? texts.emptyLeft(name) : texts.fileLeft(name);
  } catch (thrown) {
    return isMissing(thrown) ? undefined : texts.unknownLeft(name);
  }
}

/** Whether the folder is still where it was picked. */
async function isThere(folder: FileSystemDirectoryHandle): Promise<boolean> {
  try {
    await folder.keys().next();
    return true;
  } catch (thrown) {
    return !isMissing(thrown);
  }
}

const isMissing = (thrown: unknown): boolean => thrown instanceof DOMException && thrown.name === 'NotFoundError';
