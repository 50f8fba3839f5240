// What a page can write to: the kinds of targets, and whether the private file system has room for a file.

import { inAnyCoordinator } from '../client-side/coordinator.js';
import { toDecantError } from '../errors/errors.js';
import type { TargetKind } from '../public/types.browser.js';
import { downloadRefusal } from '../targets/browser/download.js';
import { isInForeignFrame } from '../targets/browser/frame.js';
import { storageRoot, TemporaryFile } from '../targets/browser/storage.js';
import { browser } from './browser-platform.js';

type Obstacle = Required<Pick<TargetKind, 'obstacle' | 'code'>>;

/** Why the page cannot show `picker`; undefined if it can. */
function pickerObstacle(picker: 'showSaveFilePicker' | 'showDirectoryPicker'): Obstacle | undefined {
  if (!globalThis.isSecureContext) {
    return { code: 'insecure-page', obstacle: 'File pickers are available only over https or on localhost' };
  }
  if (!(picker in globalThis)) return { code: 'no-picker', obstacle: 'This browser does not have this file picker' };
  if (!isInForeignFrame()) return undefined;
  return { code: 'foreign-frame', obstacle: 'Browsers show no file picker in a cross-origin frame' };
}

async function storageObstacle(): Promise<Obstacle | undefined> {
  try {
    await storageRoot();
    return undefined;
  } catch (thrown) {
    return obstacleOf(thrown);
  }
}

function downloadObstacle(): Obstacle | undefined {
  const refusal = downloadRefusal();
  return refusal && obstacleOf(refusal);
}

function obstacleOf(thrown: unknown): Obstacle {
  const { code, message } = toDecantError(thrown);
  return { code, obstacle: message };
}

/**
 * Lists the kinds of targets, with the reason for each that this page cannot use. Never rejects. `canStore` checks whether a
 * disk fits.
 */
export async function targets(): Promise<TargetKind[]> {
  const stored = await storageObstacle();
  return [
    { name: 'file handle', ...pickerObstacle('showSaveFilePicker') },
    { name: 'folder', ...pickerObstacle('showDirectoryPicker') },
    { name: 'opfs', ...stored },
    { name: 'download', ...(downloadObstacle() ?? stored) },
    { name: 'stream' },
    { name: 'target' },
  ];
}

/**
 * Checks whether the origin's private file system has room for a file of `size` bytes, which `{ opfs }` and `{ download }`
 * need. Creates such a file and removes it, since browsers' estimates are not reliable. Resolves to `false` if the page has
 * no private file system.
 */
export async function canStore(size: number): Promise<boolean> {
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
