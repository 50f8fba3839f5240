// Amounts, times, lists and failures in English.

import { shownText } from 'decant';
import type { Failed, SaveCost, SaveMethod } from '../types.texts.js';
import { sentence } from './sentences.js';
import { unitsOf } from './units.js';

export const { size, binarySize, duration } = unitsOf({ language: 'en', bytes: 'bytes', days: 'days' });

/** A part of a whole, rounded down: 100% only at the end. */
export const percent = (share: number): string => `${Math.floor(share * 100)}%`;

/** Lists `names`; of more than five, the first four. */
export const list = (names: string[]): string =>
  names.length > 5
    ? `${names.slice(0, 4).map(shownText).join(', ')} and ${names.length - 4} more`
    : names.map(shownText).join(', ');

/** A time that is only estimated. */
export const roughly = (seconds: number): string => {
  if (seconds < 60) return 'under a minute';
  if (seconds < 600) return 'a few minutes';
  if (seconds < 3600) return 'under an hour';
  return seconds < 86_400 ? 'a few hours' : 'over a day';
};

/** The time, if it is known. */
export const about = ({ seconds, atLeast, isGuess }: SaveCost): string => {
  if (seconds === undefined || (isGuess && atLeast)) return '';
  if (isGuess) return `probably ${roughly(seconds)}`;
  return `${atLeast ? 'at least' : 'about'} ${duration(seconds)}`;
};

export const speed = (bytesPerSecond: number, method: SaveMethod): string =>
  `${size(bytesPerSecond)}/s of ${method === 'streamed' ? 'the disk' : 'data'}`;

/** Failures for which the element offers a step. */
const byButton: Partial<Record<string, string>> = {
  'state-format': 'Its format is not known.',
  'not-a-disk':
    'It has no known format and does not look like a raw disk: no partition table, no known file system, and not a multiple of 512 bytes. If a disk is packed in it, unpack it first.',
};

/** Messages of the package mention options for programs, such as `format`. */
export const failure = ({ code, message, fields }: Failed): string =>
  (fields.file === undefined && byButton[code]) || sentence(fields.reason ?? message);
