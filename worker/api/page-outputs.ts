// What a page can convert to.

import { toDecantError } from '../errors.js';
import { storageRoot } from '../targets/storage.js';
import type { OutputKind } from '../types.browser.js';

/** Why a page gets no handles from pickers, or undefined where it does. */
function pickerObstacle(picker: 'showSaveFilePicker' | 'showDirectoryPicker'): string | undefined {
  if (!globalThis.isSecureContext) return 'A page has file pickers only over https or on localhost';
  if (!(picker in globalThis)) return 'This browser has no such file picker';
  return isInForeignFrame() ? 'A frame in a page of another origin is shown no file picker' : undefined;
}

function isInForeignFrame(): boolean {
  try {
    // Of another origin this throws.
    return window.top?.document === undefined;
  } catch {
    return true;
  }
}

async function storageObstacle(): Promise<string | undefined> {
  try {
    await storageRoot();
    return undefined;
  } catch (thrown) {
    return toDecantError(thrown).message;
  }
}

/**
 * What this page can convert to, and why not where it cannot; never rejects. Whether a disk fits is told by `canStore`.
 */
export async function outputs(): Promise<OutputKind[]> {
  const stored = await storageObstacle();
  const download = typeof document === 'undefined' ? 'A download can be started by a page only' : stored;
  const kind = (name: OutputKind['name'], obstacle: string | undefined): OutputKind =>
    obstacle === undefined ? { name } : { name, obstacle };
  return [
    kind('file handle', pickerObstacle('showSaveFilePicker')),
    kind('folder', pickerObstacle('showDirectoryPicker')),
    kind('opfs', stored),
    kind('download', download),
    kind('stream', undefined),
    kind('target', undefined),
  ];
}
