// The places that disks go to: what the package writes to there, and what a failure leaves.

import { DecantError, type Output } from 'decant';
import { isAlike } from './given.js';
import type { Stage } from './stage.js';
import type { Place } from './state.js';
import type { Texts } from './texts/english.js';
import type { DiskToSave } from './types.js';

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
        throw new DecantError('sink', texts.noStream((cause as Error).message), { cause });
      }
    case 'host':
      try {
        return { output: await host.output!(disk), signal: ended };
      } catch (cause) {
        throw DecantError.is(cause) ? cause : new DecantError('sink', (cause as Error).message, { cause });
      }
  }
}

/**
 * A sentence on what a conversion that did not succeed has left at `place`; `undefined` where only the page knows. `isKept`
 * says whether what is done is kept, to be gone on with.
 */
export async function leftBehind(place: Place, isKept: boolean, texts: Texts): Promise<string | undefined> {
  switch (place.kind) {
    case 'stored':
      return isKept ? texts.partKept : texts.nothingLeft;
    case 'streamed':
      // Chromium leaves nothing. Firefox and WebKit leave a part of the file.
      return texts.streamLeft(place.name);
    case 'folder':
      return leftIn(place.folder.getFileHandle(place.name), place.name, place.replaces, texts);
    case 'dialog':
      return leftIn(Promise.resolve(place.handle), place.name, undefined, texts);
    case 'host':
      return undefined;
  }
}

/** The same for a file that can be looked at. `before` is the file that was there. */
async function leftIn(
  handle: Promise<FileSystemFileHandle>,
  name: string,
  before: File | undefined,
  texts: Texts,
): Promise<string> {
  try {
    const now = await (await handle).getFile();
    if (before && isAlike(now, before)) return texts.asItWas(name);
    return now.size === 0 ? texts.emptyLeft(name) : texts.fileLeft(name);
  } catch (thrown) {
    return thrown instanceof DOMException && thrown.name === 'NotFoundError'
      ? texts.nothingLeft
      : texts.unknownLeft(name);
  }
}
