// Sizes and times in German.

import type { SaveCost } from '../../types.texts.js';
import { checkTime, LEAST_ROOM, unitsOf } from '../wording.js';

export const units = unitsOf({ language: 'de', bytes: 'Bytes', days: 'Tage' });
export const { size, exactSize, gigabytes, duration } = units;

/** A time that is only estimated. */
export const roughly = (seconds: number): string => {
  if (seconds < 60) return 'weniger als eine Minute';
  if (seconds < 600) return 'einige Minuten';
  if (seconds < 3600) return 'weniger als eine Stunde';
  if (seconds < 21_600) return 'einige Stunden';
  return seconds < 86_400 ? 'viele Stunden' : 'mehr als einen Tag';
};

/** The time, if it is known. */
export const about = ({ seconds, atLeast, isGuess }: SaveCost): string => {
  if (seconds === undefined || (isGuess && atLeast)) return '';
  if (isGuess) return `wahrscheinlich ${roughly(seconds)}`;
  return `${atLeast ? 'mindestens' : 'etwa'} ${duration(seconds)}`;
};

export const space = ({ space: bytes, atLeast }: SaveCost): string =>
  bytes ? `${atLeast ? 'mindestens ' : ''}${size(bytes)}` : '';

/** A sentence about the time, after another sentence; empty if the time is unknown. */
export const time = (cost: SaveCost): string =>
  about(cost).replace(/^(.)(.*)/, (_, first, rest) => ` ${first.toUpperCase()}${rest}.`);

/** How long the browser checks a file of `bytes` in a folder. */
export const checking = (bytes: number): string => {
  const { from, to, unit } = checkTime(bytes);
  if (from === to) return roughly(0);
  return `${from} bis ${to}\u00a0${{ years: 'Jahre', days: 'Tage', hours: 'Stunden', minutes: 'Minuten' }[unit]}`;
};

/** The beginning of a sentence: the private storage has less room than the disk needs. */
export const holds = (room: number | undefined): string => {
  if (room === undefined) return 'Dieses Fenster kann die Platte nicht speichern';
  return `Dieses Fenster kann ${room > 0 ? `etwa ${size(room)}` : `weniger als ${size(LEAST_ROOM)}`} speichern, weniger als die Platte hat`;
};

/** The cost of writing a disk of `disk` bytes to a picked place. */
export const pickedCost = (cost: SaveCost, disk: number): string => {
  const takes = cost.takesHours ? ` Am Ende prüft der Browser alle ${size(disk)}: ${checking(disk)}.` : time(cost);
  if (cost.space) return `Belegt ${space(cost)}, so viel wie die Daten.${takes}`;
  return cost.space === 0 && !cost.atLeast ? `Belegt fast keinen Platz.${takes}` : 'Nur Daten belegen Platz.';
};

/** The cost of downloading a disk of `disk` bytes. */
export const downloadCost = (cost: SaveCost, disk: number): string => `Belegt die vollen ${size(disk)}.${time(cost)}`;
