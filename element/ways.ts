// The ways to save a disk, and the figures for choosing one.

import type { Contents } from 'decant/contents';
import type { DiskPicture } from './picture/disk-picture.js';
import type { Method } from './rates.js';

/** A way to save a disk: to a folder, to a file from the browser's save dialog, to the downloads, or by the page. */
export type Way = 'folder' | 'dialog' | 'download' | 'host';

/** The findings so far from reading the map and the contents of a disk. Sizes are in bytes. */
export interface Survey {
  data: number;
  compressed: number;
  /** In a salvage: bytes that the tables show to be lost. */
  lost: number;
  /** Whether the map was read to its end. Until then the sizes are lower bounds. */
  complete: boolean;
  /** The map as a picture; missing if the size of the disk is known only at its end. */
  picture?: DiskPicture;
  /** Partitions and file systems, once they are read. */
  contents?: Contents;
  /** Whether to show figures and propose a way before the map is complete, because reading it takes long. */
  isDue: boolean;
}

/** Whether the disk has a GPT; `undefined` if unknown. */
export const hasGpt = ({ contents }: Survey): boolean | undefined => contents && contents.table?.kind === 'GPT';

export interface Choice {
  way: Way;
  method: Method;
  /** Why it cannot be chosen, if so. */
  obstacle?: string;
  /** The time that it will take, in seconds, if known. */
  seconds?: number;
  /** Whether `seconds` is only estimated, because nothing was converted in this way yet. */
  isGuess?: boolean;
  /** The part of `seconds` in which the browser still copies after the page is done. */
  copying?: number;
  /** The space that the file will take, in bytes, if known. */
  space?: number;
  /** Whether `seconds` and `space` are lower bounds, because the map was not read to its end. */
  atLeast?: boolean;
  /** Whether the result fits into the browser's storage, if that is not certain. */
  fit?: 'unknown' | 'unlikely';
  /** Another fact that the person should know beforehand. */
  note?: string;
}
