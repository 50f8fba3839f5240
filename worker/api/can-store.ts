// Browsers: whether the private file system takes a file.

import { acquireCoordinator } from '../client-side/coordinator.js';
import { toDecantError } from '../errors/errors.js';
import { TemporaryFile } from '../targets/browser/storage.js';
import { browser } from './browser-platform.js';

/**
 * Whether the origin's private file system takes a file of `size` bytes, as `{ opfs }` and `{ download }` need it.
 * Makes such a file and removes it again, since the estimates of browsers are not reliable. Resolves to `false` if the
 * page has no such file system.
 */
export async function canStore(size: number): Promise<boolean> {
  const coordinator = acquireCoordinator(browser, 'workers', 0);
  try {
    const file = await TemporaryFile.create();
    try {
      await coordinator.ready;
      return await coordinator.client.call('tryLength', file.name, size);
    } finally {
      await file.remove();
    }
  } catch (thrown) {
    const error = toDecantError(thrown, 'target', 'try the storage');
    // There is no storage, or no room for even an empty file.
    if (error.kind === 'usage' || error.kind === 'target') return false;
    throw error;
  } finally {
    coordinator.release(true);
  }
}
