// Entries of folders in browsers: whether one is missing or is a source, and removing one that is busy.

import { DecantError } from '../../errors/errors.js';
import type { OpenedSource } from '../../sources/opened-source.js';

export const isNamed = (thrown: unknown, name: string): boolean =>
  thrown instanceof DOMException && thrown.name === name;

export const isMissing = (thrown: unknown): boolean => isNamed(thrown, 'NotFoundError');

/** Returns undefined for the exception of a missing file, and rethrows any other. */
export function unlessMissing(thrown: unknown): undefined {
  if (!isMissing(thrown)) throw thrown;
}

const TRIES = 20;
const PAUSE = 50;

/**
 * Removes the entry `name` of `folder` while `isOurs` resolves to `true`. Tries for a second if it is busy. Resolves to whether
 * the entry is gone, or not ours.
 */
export async function removeUnlessBusy(
  folder: FileSystemDirectoryHandle,
  name: string,
  isOurs: () => Promise<boolean>,
): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (!(await isOurs())) return true;
    try {
      await folder.removeEntry(name);
      return true;
    } catch (thrown) {
      if (isMissing(thrown)) return true;
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }
  return false;
}

/** Fails if `handle` is one of `sources`: with `usage`, or with `source` if the browser has already emptied the file. */
export async function refuseSources(handle: FileSystemFileHandle, sources: OpenedSource[]): Promise<void> {
  const file = await handle.getFile();
  for (const [at, source] of sources.entries()) {
    const match = await source.isFile?.(handle, file);
    if (!match) continue;
    const verb = match === 'certain' ? 'is' : 'is probably';
    const what = `'${handle.name}' ${verb} ${at === 0 ? 'the image itself' : 'a file that the image needs'}`;
    if (file.size > 0 || source.size === 0) throw new DecantError('usage', `${what}; choose another output`);
    throw new DecantError(
      'source',
      `${what}, and the browser's dialog emptied it when it was chosen as the output: its content is lost`,
    );
  }
}

/** A finished output, to be read back. */
export function sourceOf(file: File): OpenedSource {
  const { size } = file;
  const nothing = async () => {};
  return { spec: { blob: file }, identity: file, name: undefined, size, verify: nothing, close: nothing };
}
