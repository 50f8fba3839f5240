// Finds out which files a failed conversion has left.

import { type DecantError, type Leftover, leftovers, type SavedProgress } from 'decant';
import { isAlike, isNamed } from '../files/input-file.js';
import { asError } from '../steps/screen.js';
import type { Target } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';

/**
 * What remains in the browser's storage: nothing, a part that can be resumed, something of unknown size, or this number of
 * bytes, which the browser has not removed yet.
 */
export type StoredRemains = 'nothing' | 'kept' | 'unknown' | number;

/** Finds the remains of an unsuccessful conversion of the image `name` in the browser's storage. Discards them after a cancel. */
export async function storedRemains(
  target: Target,
  error: DecantError,
  isCancelled: boolean,
  name: string,
): Promise<StoredRemains> {
  const { resumable, stored } = error.fields;
  if (target.kind !== 'stored') return 'nothing';
  if (typeof stored === 'number') return stored;
  if (isCancelled) return discarded(target.kept);
  if (resumable || !target.kept) return resumable ? 'kept' : 'nothing';
  // The conversion may have failed before it resumed an earlier part.
  const isOurs = ({ kind, image }: Leftover) => kind === 'download' && image === name;
  return leftovers().then(
    (found) => (found.some(isOurs) ? 'kept' : 'nothing'),
    () => 'unknown',
  );
}

/** Discards `kept`, and returns the rest that could not be removed yet. */
async function discarded(kept: SavedProgress | undefined): Promise<StoredRemains> {
  try {
    await kept?.discard();
    return 'nothing';
  } catch (thrown) {
    const { stored } = asError(thrown).fields;
    return typeof stored === 'number' ? stored : 'unknown';
  }
}

/**
 * Describes in a sentence what remains at `target` after a failed or cancelled conversion; `undefined` if only the page knows. `rest`
 * is what remains of a stored download.
 */
export async function describeRemains(
  target: Target,
  rest: StoredRemains,
  texts: AllTexts,
): Promise<string | undefined> {
  switch (target.kind) {
    case 'stored':
      return storedText(rest, target.name, texts);
    case 'streamed':
      // Chromium leaves nothing. Firefox and WebKit leave a part of the file.
      return texts.streamLeft(target.name);
    case 'folder':
      return remainsInFolder(target, texts);
    case 'dialog':
      // The browser's dialog has created this file. If it is missing, it was moved.
      return (
        (await remainsInFile(target.handle, target.name, undefined, texts)) ??
        texts.fileMoved(target.name, swapOf(target.name))
      );
    case 'host':
      return undefined;
  }
}

function storedText(rest: StoredRemains, name: string, texts: AllTexts): string {
  if (typeof rest === 'number') return texts.stillStored(rest);
  return { nothing: texts.nothingLeft, kept: texts.partKept, unknown: texts.unknownLeft(name) }[rest];
}

/** The name of the file that Chromium writes beside `name` until the output is complete. */
const swapOf = (name: string): string => `${name}.crswap`;

async function remainsInFolder(
  { folder, name, replaces }: Extract<Target, { kind: 'folder' }>,
  texts: AllTexts,
): Promise<string> {
  try {
    // Another folder with a file of this name can have taken the place of the folder.
    const changed = texts.fileInFolderLeft(folder.name, name, swapOf(name));
    const remains = await remainsInFile(await folder.getFileHandle(name), name, replaces, texts, changed);
    if (remains !== undefined) return remains;
  } catch (thrown) {
    if (!isNamed(thrown, 'NotFoundError')) return texts.unknownLeft(name);
  }
  if (await folderExists(folder)) return texts.nothingLeft;
  return texts.folderMoved(folder.name, name, swapOf(name), replaces !== undefined);
}

/**
 * Describes a file after a failure: `changed` if it is neither empty nor the file `before`; `undefined` if it is missing.
 */
async function remainsInFile(
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
    return isNamed(thrown, 'NotFoundError') ? undefined : texts.unknownLeft(name);
  }
}

/** Whether the folder still exists where it was picked. */
async function folderExists(folder: FileSystemDirectoryHandle): Promise<boolean> {
  try {
    await folder.keys().next();
    return true;
  } catch (thrown) {
    return !isNamed(thrown, 'NotFoundError');
  }
}
