// The ways to save a disk, and what is known for a choice among them.

import type { Contents } from 'decant/contents';
import type { DiskPicture } from './picture/disk-picture.js';
import type { Method } from './rates.js';

/** Where a disk goes: to a folder, a file picked in the browser's own dialog, the downloads; or where the page wants it. */
export type Way = 'folder' | 'dialog' | 'download' | 'host';

/** What the map of a disk has told so far. All sizes in bytes. */
export interface Survey {
  data: number;
  compressed: number;
  /** Salvage only: what the tables alone show to be lost. */
  lost: number;
  /** Whether the map was read to its end. Until then the sizes are lower bounds. */
  complete: boolean;
  /** The same as a picture; missing where only a conversion tells how large the disk is. */
  picture?: DiskPicture;
  /** What is inside; missing until it is known. */
  contents?: Contents;
  /** Whether figures are shown and a way is proposed before it is complete: it took too long. */
  isDue: boolean;
}

/** Whether the disk has a GPT; `undefined` where that is not known. */
export const hasGpt = ({ contents }: Survey): boolean | undefined => contents && contents.table?.kind === 'GPT';

export interface Choice {
  way: Way;
  method: Method;
  /** Why it cannot be chosen; `undefined` if it can. */
  obstacle?: string;
  /** How long it will take, in seconds, where that is known. */
  seconds?: number;
  /** Whether `seconds` is a guess: nothing was converted in this way yet. */
  isGuess?: boolean;
  /** The part of `seconds` in which the browser still copies after the page is done. */
  copying?: number;
  /** What the file will take on the disk, in bytes, where that is known. */
  space?: number;
  /** Whether `seconds` and `space` are lower bounds, since the map was not read to its end. */
  atLeast?: boolean;
  /** What else the person should know beforehand. */
  note?: string;
}
