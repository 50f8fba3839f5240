// Removes files that a terminated worker may still hold for a moment.

import { isMissing } from './missing.js';

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
