// Removing a file that a worker may hold a moment longer than it lives.

import { isMissing } from './missing.js';

const TRIES = 20;
const PAUSE = 50;

/**
 * Removes the entry `name` of `folder` for as long as `isOurs` says so; what is busy all the while stays. Resolves to whether
 * it is gone, or is not ours.
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
