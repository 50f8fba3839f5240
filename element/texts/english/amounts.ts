// Sizes, speeds and times in English.

import type { SaveCost } from '../../types.texts.js';
import type { SaveMethod } from '../../types.texts-results.js';
import { checkTime, LEAST_ROOM, unitsOf } from '../wording.js';

export const units = unitsOf({ language: 'en', bytes: 'bytes', days: 'days' });
export const { size, exactSize, gigabytes, duration } = units;

/** A part of a whole, rounded down: 100% only at the end. */
export const percent = (share: number): string => `${Math.floor(share * 100)}%`;

/** A time that is only estimated. */
export const roughly = (seconds: number): string => {
  if (seconds < 60) return 'under a minute';
  if (seconds < 600) return 'a few minutes';
  if (seconds < 3600) return 'under an hour';
  if (seconds < 21_600) return 'a few hours';
  return seconds < 86_400 ? 'many hours' : 'over a day';
};

/** The time, if it is known. */
export const about = ({ seconds, atLeast, isGuess }: SaveCost): string => {
  if (seconds === undefined || (isGuess && atLeast)) return '';
  if (isGuess) return `probably ${roughly(seconds)}`;
  return `${atLeast ? 'at least' : 'about'} ${duration(seconds)}`;
};

export const speed = (bytesPerSecond: number, method: SaveMethod): string =>
  `${size(bytesPerSecond)}/s of ${method === 'streamed' ? 'the disk' : 'data'}`;

export const space = ({ space: bytes, atLeast }: SaveCost): string =>
  bytes ? `${atLeast ? 'at least ' : ''}${size(bytes)}` : '';

/** A sentence about the time, after another sentence; empty if the time is unknown. */
export const time = (cost: SaveCost): string =>
  about(cost).replace(/^(.)(.*)/, (_, first, rest) => ` ${first.toUpperCase()}${rest}.`);

export const timeValue = (seconds: number): string => (seconds < 1 ? 'less than a second' : duration(seconds));

/** How long the browser checks a file of `bytes` in a folder. */
export const checking = (bytes: number): string => {
  const { from, to, unit } = checkTime(bytes);
  if (from === to) return roughly(0);
  return `${from} to ${to}\u00a0${unit}`;
};

/** The beginning of a sentence: the private storage has less room than the disk needs. */
export const holds = (room: number | undefined): string => {
  if (room === undefined) return 'This window cannot store the disk';
  return `This window can store ${room > 0 ? `about ${size(room)}` : `less than ${size(LEAST_ROOM)}`}, which is less than the disk`;
};

/** The cost of writing a disk of `disk` bytes to a picked place. */
export const pickedCost = (cost: SaveCost, disk: number): string => {
  const takes = cost.takesHours ? ` At the end, the browser checks all ${size(disk)}: ${checking(disk)}.` : time(cost);
  if (cost.space) return `Takes ${space(cost)}, the size of its data.${takes}`;
  return cost.space === 0 && !cost.atLeast ? `Takes almost no space.${takes}` : 'Only data takes space.';
};

/** The cost of downloading a disk of `disk` bytes. */
export const downloadCost = (cost: SaveCost, disk: number): string => `Takes the full ${size(disk)}.${time(cost)}`;
