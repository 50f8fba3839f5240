// Lists the kinds of targets in a page, and whether the private file system has room for a file.

import { inAnyCoordinator } from '../client-side/coordinator.js';
import { refusalOf, toDecantError } from '../errors/errors.js';
import type { TargetKind, TargetsOptions } from '../public/types.browser.js';
import type { Refusal } from '../public/types.js';
import { copyExpiry } from '../targets/browser/copy-lifetime.js';
import { downloadRefusal } from '../targets/browser/download.js';
import { isInForeignFrame } from '../targets/browser/frame.js';
import { storageRoot, TemporaryFile } from '../targets/browser/storage.js';
import { browser } from './browser-platform.js';
import { checkCall } from './options.js';
import { requireWhole } from './reading.js';

/** Why the page cannot show `picker`; undefined if it can. */
function pickerRefusal(picker: 'showSaveFilePicker' | 'showDirectoryPicker'): Refusal | undefined {
  const refusal = (code: string, message: string): Refusal => ({ kind: 'usage', code, fields: {}, message });
  if (!globalThis.isSecureContext) {
    return refusal('insecure-page', 'File pickers are available only over https or on localhost');
  }
  if (!(picker in globalThis)) return refusal('no-picker', 'This browser does not have this file picker');
  if (!isInForeignFrame()) return undefined;
  return refusal('foreign-frame', 'Browsers show no file picker in a cross-origin frame');
}

/** Why the page has no storage; undefined if it has some. */
async function storageRefusal(): Promise<Refusal | undefined> {
  try {
    await storageRoot();
    return undefined;
  } catch (thrown) {
    return refusalOf(toDecantError(thrown));
  }
}

/**
 * Lists the kinds of targets, with why this page cannot use it. With `size`, says for those that use the private file
 * system whether a file of that size fits. Fails with `usage` for wrong options, and with `internal` if the worker that tries the size
 * does not start.
 */
export async function targets(options: TargetsOptions = {}): Promise<TargetKind[]> {
  checkCall('targets', options);
  const { size } = options;
  if (size !== undefined) requireWhole('size', size);
  const withRefusal = (error: Refusal | undefined) => error && { refusal: error };
  // Together, because each asks the browser for the storage.
  const [noStorage, fits] = await Promise.all([storageRefusal(), size !== undefined && canStore(size)]);
  const noDownload = downloadRefusal();
  const room = size === undefined || noStorage ? {} : { fits };
  return [
    { name: 'file handle', ...withRefusal(pickerRefusal('showSaveFilePicker')) },
    { name: 'folder', ...withRefusal(pickerRefusal('showDirectoryPicker')) },
    { name: 'opfs', ...withRefusal(noStorage), ...room },
    {
      name: 'download',
      ...withRefusal(noDownload ? refusalOf(noDownload) : noStorage),
      ...room,
      ...(size !== undefined && { copyExpires: copyExpiry(size) }),
    },
    { name: 'stream' },
    { name: 'target' },
  ];
}

/** Whether the origin's private file system has room for a file of `size` bytes. */
async function canStore(size: number): Promise<boolean> {
  try {
    const file = await TemporaryFile.create();
    try {
      return await inAnyCoordinator(browser, (client) => client.call('tryLength', file.name, size));
    } finally {
      await file.remove();
    }
  } catch (thrown) {
    const error = toDecantError(thrown, 'target', 'try the storage');
    // No storage, or not even room for an empty file.
    if (error.kind === 'usage' || error.kind === 'target') return false;
    throw error;
  }
}
