// The places where disks are saved: the output that the package writes, and the remains after a failure.

import { DecantError, type Output } from 'decant';
import { messageOf } from './failures.js';
import { isAlike } from './given.js';
import type { Stage } from './stage.js';
import type { Place } from './state.js';
import type { DiskToSave } from './types.element.js';
import type { AllTexts } from './types.texts.js';

/** The output at a place. */
interface Opened {
  output: Output;
  /** Cancels the conversion. */
  signal: AbortSignal;
  /** For a stream: the bytes that the browser has taken. */
  taken?: () => number;
}

/** Opens `place` for `disk`. `ended` or a cancel in the browser's list of downloads aborts the returned `signal`. */
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
        throw new DecantError('target', texts.noStream(messageOf(cause)), { code: 'from-page', cause });
      }
    case 'host':
      if (typeof host.output !== 'function') throw new DecantError('usage', 'output must be a function');
      try {
        return { output: await host.output(disk), signal: ended };
      } catch (cause) {
        if (DecantError.is(cause)) throw cause;
        throw new DecantError('target', messageOf(cause), { code: 'from-page', cause });
      }
  }
}

/**
 * Says in a sentence what a failed or cancelled conversion has left at `place`; `undefined` if only the page knows. `isKept`:
 * whether the download can be resumed.
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
      // The browser's dialog has created this file. If it is missing, it was moved.
      return (
        (await leftIn(place.handle, place.name, undefined, texts)) ?? texts.fileMoved(place.name, swapOf(place.name))
      );
    case 'host':
      return undefined;
  }
}

/** The name of the file that Chromium writes beside `name` until the output is complete. */
const swapOf = (name: string): string => `${name}.crswap`;

async function leftInFolder(
  { folder, name, replaces }: Extract<Place, { kind: 'folder' }>,
  texts: AllTexts,
): Promise<string> {
  try {
    // Another folder with a file of this name can have taken the place of the folder.
    const changed = texts.fileInFolderLeft(folder.name, name, swapOf(name));
    const left = await leftIn(await folder.getFileHandle(name), name, replaces, texts, changed);
    if (left !== undefined) return left;
  } catch (thrown) {
    if (!isMissing(thrown)) return texts.unknownLeft(name);
  }
  if (await isThere(folder)) return texts.nothingLeft;
  return texts.folderMoved(folder.name, name, swapOf(name), replaces !== undefined);
}

/**
 * Says what is left in a file: `changed` if it is neither empty nor the file `before`; `undefined` if it is missing.
 */
async function leftIn(
  handle: FileSystemFileHandle,
  name: string,
  before: File | undefined,
  texts: AllTexts,
  changed = texts.fileLeft(name),
): Promise<string | undefined> {
  try {
    const now = await handle.getFile();
    if (before && isAlike(now, before)) return texts.asItWas(name);
    return now.size === 0 ? texts.emptyLeft(name) : changed;
  } catch (thrown) {
    return isMissing(thrown) ? undefined : texts.unknownLeft(name);
  }
}

/** Whether the folder still exists where it was picked. */
async function isThere(folder: FileSystemDirectoryHandle): Promise<boolean> {
  try {
    await folder.keys().next();
    return true;
  } catch (thrown) {
    return !isMissing(thrown);
  }
}

const isMissing = (thrown: unknown): boolean => thrown instanceof DOMException && thrown.name === 'NotFoundError';
