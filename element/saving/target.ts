// The output of the package at a target, and interrupted downloads there.

import { type AnyImage, DecantError, type Output, type OutputFormat, type SavedProgress } from 'decant';
import { isSameName } from '../files/bundle.js';
import type { Screen } from '../steps/screen.js';
import type { Target } from '../steps/state.js';
import type { DiskToSave } from '../types.element.js';

/** The output at a target. */
interface Opened {
  output: Output;
  /** Cancels the conversion. */
  signal: AbortSignal;
  /** For a stream: the bytes that the browser has taken. */
  taken?: () => number;
}

/** The message of a value that code of the page has thrown. */
const messageOf = (thrown: unknown): string => (thrown instanceof Error && thrown.message) || String(thrown);

/** Opens `target` for `disk`. `ended` or a cancel in the browser's list of downloads aborts the returned `signal`. */
export async function outputAt(
  target: Target,
  disk: DiskToSave,
  ended: AbortSignal,
  { host, texts }: Screen,
): Promise<Opened> {
  switch (target.kind) {
    case 'folder':
      return { output: { folder: target.folder, name: target.name }, signal: ended };
    case 'dialog':
      return { output: target.handle, signal: ended };
    case 'stored':
      return { output: { download: target.name }, signal: ended };
    case 'streamed':
      try {
        const stream = await host.streamedDownloads!.open(target.name, disk.format.outputSize, ended);
        const signal = AbortSignal.any([ended, stream.cancelled]);
        return { output: stream.writable, signal, taken: () => stream.taken() };
      } catch (cause) {
        throw new DecantError('target', texts.noStream(messageOf(cause)), { code: 'from-page', cause });
      }
    case 'host':
      try {
        return { output: await host.output!(disk), signal: ended };
      } catch (cause) {
        if (DecantError.is(cause)) throw cause;
        throw new DecantError('target', messageOf(cause), { code: 'from-page', cause });
      }
  }
}

/** Whether two targets are one file. */
export async function isSameTarget(one: Target, other: Target): Promise<boolean> {
  // Some file systems ignore case, which handles do not know.
  if (one.kind === 'folder' && other.kind === 'folder')
    return isSameName(one.name, other.name) && (await one.folder.isSameEntry(other.folder));
  const [handle, otherHandle] = await Promise.all([handleOf(one), handleOf(other)]);
  return handle !== undefined && otherHandle !== undefined && handle.isSameEntry(otherHandle);
}

/** The file at a picked target; `undefined` if there is none. */
async function handleOf(target: Target): Promise<FileSystemFileHandle | undefined> {
  if (target.kind === 'dialog') return target.handle;
  return target.kind === 'folder' ? target.folder.getFileHandle(target.name).catch(() => undefined) : undefined;
}

/** Finds the kept part of a download of the image; `undefined` if it could not be resumed. */
export async function keptDownload(
  image: AnyImage,
  name: string,
  format: OutputFormat,
  change: { size?: number; fixGpt?: boolean } = {},
): Promise<SavedProgress | undefined> {
  try {
    return await image.savedProgress(
      { download: name },
      { format: format.name, formatOptions: format.recommended, ...change },
    );
  } catch {
    // Without storage nothing is kept. A conversion reports the missing storage.
    return undefined;
  }
}
