// What a page can write to: the kinds of targets, and whether the private file system has room for a file.

import { inAnyCoordinator } from '../client-side/coordinator.js';
import { toDecantError } from '../errors/errors.js';
import type { TargetKind, TargetsOptions } from '../public/types.browser.js';
import { copyExpiry } from '../targets/browser/copy-lifetime.js';
import { downloadRefusal } from '../targets/browser/download.js';
import { isInForeignFrame } from '../targets/browser/frame.js';
import { storageRoot, TemporaryFile } from '../targets/browser/storage.js';
import { browser } from './browser-platform.js';
import { checkCall } from './options.js';
import { requireWhole } from './reading.js';

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
 * Lists the kinds of targets, with the reason for each that this page cannot use. With `size`, says for those that use the private file
 * system whether a file of that size fits. Fails with `usage` for wrong options, and with `internal` if the worker that tries the size
 * does not start.
 */
export async function targets(options: TargetsOptions = {}): Promise<TargetKind[]> {
  checkCall('targets', options);
  const { size } = options;
  if (size !== undefined) requireWhole('size', size);
  const stored = await storageObstacle();
  const room = size === undefined || stored ? {} : { fits: await canStore(size) };
  return [
    { name: 'file handle', ...pickerObstacle('showSaveFilePicker') },
    { name: 'folder', ...pickerObstacle('showDirectoryPicker') },
    { name: 'opfs', ...stored, ...room },
    {
      name: 'download',
      ...(downloadObstacle() ?? stored),
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
