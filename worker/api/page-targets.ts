// The kinds of targets that a page has.

import { toDecantError } from '../errors/errors.js';
import type { TargetKind } from '../public/types.browser.js';
import { downloadRefusal } from '../targets/browser/download.js';
import { isInForeignFrame } from '../targets/browser/frame.js';
import { storageRoot } from '../targets/browser/storage.js';

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
