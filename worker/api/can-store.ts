// Browsers: checks whether the private file system has room for a file.

import { acquireAnyCoordinator } from '../client-side/coordinator.js';
import { toDecantError } from '../errors/errors.js';
import { TemporaryFile } from '../targets/browser/storage.js';
import { browser } from './browser-platform.js';

/**
 * Checks whether the origin's private file system has room for a file of `size` bytes, which `{ opfs }` and `{ download }`
 * need. Creates such a file and removes it, since browsers' estimates are not reliable. Resolves to `false` if the page has
 * no private file system.
 */
export async function canStore(size: number): Promise<boolean> {
  const coordinator = acquireAnyCoordinator(browser);
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
    // No storage, or not even room for an empty file.
    if (error.kind === 'usage' || error.kind === 'target') return false;
    throw error;
  } finally {
    coordinator.release(true);
  }
}
