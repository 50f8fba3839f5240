// Reports the lost ranges of a salvage.

import type { Extent } from '../public/types.js';
import { report } from './printing.js';

/** The maximum number of listed ranges. */
export const MAX_LISTED = 10_000;

export const reportLost = ({ start, length, reason = '' }: Pick<Extent, 'start' | 'length' | 'reason'>): void =>
  report(`lost: ${length} bytes at ${start}: ${reason}`);

/** Reports the number of unlisted ranges, if any. */
export function reportUnlisted(ranges: number): void {
  if (ranges > 0) report(`lost: ${ranges} more ${ranges === 1 ? 'range' : 'ranges'}, not listed`);
}
