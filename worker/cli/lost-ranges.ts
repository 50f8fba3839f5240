// Reports what a salvage has lost.

import type { Extent } from '../public/types.js';
import { report } from './printing.js';

/** Upper bound on the ranges that are listed. */
export const MAX_LISTED = 10_000;

export const reportLost = ({ start, length, reason = '' }: Pick<Extent, 'start' | 'length' | 'reason'>): void =>
  report(`lost: ${length} bytes at ${start}: ${reason}`);

/** Reports how many ranges are not listed, if there are any. */
export function reportUnlisted(ranges: number): void {
  if (ranges > 0) report(`lost: ${ranges} more ${ranges === 1 ? 'range' : 'ranges'}, not listed`);
}
