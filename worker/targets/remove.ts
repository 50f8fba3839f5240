// Removing a file that a worker may hold a moment longer than it lives.

import { isMissing } from './missing.js';

const TRIES = 20;
const PAUSE = 50;

/** Removes the entry `name` of `folder` for as long as `isOurs` says so; what is busy all the while stays. */
export async function removeUnlessBusy(
  folder: FileSystemDirectoryHandle,
  name: string,
  isOurs: () => Promise<boolean>,
): Promise<void> {
  for (let tries = 0; tries < TRIES && (await isOurs()); tries += 1) {
    try {
      await folder.removeEntry(name);
      return;
    } catch (thrown) {
      if (isMissing(thrown)) return;
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }
}
