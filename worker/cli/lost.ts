// What salvage tells of a range that is lost.

import type { LostRange } from '../types.js';

export const lostLine = ({ start, length, reason }: LostRange): string =>
  `decant: lost: ${length} bytes at ${start}: ${reason}\n`;
