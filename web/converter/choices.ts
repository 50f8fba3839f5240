// The ways to save a disk, what they cost, and what is in their way here.

import type { Info } from 'decant';
import { currentRates, predict, type Rates, type Way } from './rates.js';
import { texts } from './texts.js';
import { isOtherTabBusy } from './work-guard.js';

/** What of a disk is data, as far as the map was read. */
export interface Survey {
  data: number;
  compressed: number;
  /** Salvage: what the tables alone tell to be lost. */
  lost: number;
  complete: boolean;
}

export interface Choice {
  way: Way;
  /** Why it is not to be had, or undefined. */
  obstacle?: string;
  /** How long it will take, where that is known. */
  seconds?: number;
}

/** What this browser offers to this page. */
export interface Environment {
  rates: Rates | undefined;
  /** What the private storage has room for, in bytes. */
  room: number;
  pickerObstacle: string | undefined;
  otherTab: boolean;
}

export async function findEnvironment(): Promise<Environment> {
  if (!isSecureContext) return { rates: undefined, room: 0, pickerObstacle: texts.insecure, otherTab: false };
  const [rates, room, otherTab] = await Promise.all([currentRates(), storageRoom(), isOtherTabBusy()]);
  return { rates, room, pickerObstacle: 'showSaveFilePicker' in globalThis ? undefined : texts.noPicker, otherTab };
}

/** Storage may be forbidden to a page: then it has no room. */
async function storageRoom(): Promise<number> {
  try {
    const { quota = Number.POSITIVE_INFINITY, usage = 0 } = await navigator.storage.estimate();
    return quota - usage;
  } catch {
    return 0;
  }
}

export function listChoices(info: Info, survey: Survey, environment: Environment): Choice[] {
  const { rates, room, pickerObstacle } = environment;
  const choice = (way: Way, obstacle: string | undefined): Choice => ({
    way,
    ...(obstacle ? { obstacle } : {}),
    ...(rates && survey.complete ? { seconds: predict(rates, way, info.virtualSize, survey.data) } : {}),
  });
  const noRoom = info.virtualSize > room ? texts.noRoom(room) : undefined;
  return [choice('picked', pickerObstacle), choice('download', isSecureContext ? noRoom : texts.insecure)];
}
