// Reports what a salvage has lost.

import type { Extent } from '../public/types.js';
import { tell } from './output.js';

/** Upper bound on the ranges that are listed. */
export const MOST_LISTED = 10_000;

export const tellLost = ({ start, length, reason = '' }: Pick<Extent, 'start' | 'length' | 'reason'>): void =>
  tell(`lost: ${length} bytes at ${start}: ${reason}`);

/** Reports how many ranges are not listed, if there are any. */
export function tellUnlisted(ranges: number): void {
  if (ranges > 0) tell(`lost: ${ranges} more ${ranges === 1 ? 'range' : 'ranges'}, not listed`);
}
