// What a page can convert to.

import { toDecantError } from '../errors/errors.js';
import type { TargetKind } from '../public/types.browser.js';
import { downloadRefusal } from '../targets/browser/download.js';
import { isInForeignFrame } from '../targets/browser/frame.js';
import { storageRoot } from '../targets/browser/storage.js';

type Obstacle = Required<Pick<TargetKind, 'obstacle' | 'code'>>;

/** Why a page gets no handles from pickers, or undefined where it does. */
function pickerObstacle(picker: 'showSaveFilePicker' | 'showDirectoryPicker'): Obstacle | undefined {
  if (!globalThis.isSecureContext) {
    return { code: 'insecure-page', obstacle: 'A page has file pickers only over https or on localhost' };
  }
  if (!(picker in globalThis)) return { code: 'no-picker', obstacle: 'This browser has no such file picker' };
  if (!isInForeignFrame()) return undefined;
  return { code: 'foreign-frame', obstacle: 'A frame in a page of another origin is shown no file picker' };
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
 * What this page can convert to, and why not where it cannot; never rejects. Whether a disk fits is told by `canStore`.
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
