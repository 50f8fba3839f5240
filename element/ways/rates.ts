// The speed of this browser on this machine: first estimated by a short probe, then measured by every conversion.

import type { ConvertResult } from 'decant';
import type { SaveMethod } from '../types.texts-results.js';
import { type Remembered, remember, remembered } from './remembered.js';

/** Bytes per second. */
export interface Rates {
  /** Converting into the browser's private storage. */
  storage: number;
  /** Converting into a picked file. */
  picked: number;
  /** Completing a picked file; counts its full length. */
  finish: number;
  /** Copying a finished file to the downloads; counts its full length. */
  download: number;
  /** Streaming to the downloads; counts the full length. */
  streamed: number;
}

/** Rates, and which of them were measured. */
export interface Known {
  rates: Rates;
  /** The methods that conversions have measured. */
  measured: SaveMethod[];
}

/** Where rates from conversions and from the probe are kept. */
const MEASURED = 'rates';
const PROBED = 'probed';
/** Rates for the progress bar if the probe failed. Measured on two cores in 2026. */
export const TYPICAL: Rates = { storage: 1e9, picked: 4e8, finish: 2e8, download: 1e9, streamed: 3.5e8 };
const KEYS = Object.keys(TYPICAL) as (keyof Rates)[];
/** The rates of each method. `download` is never measured, because the browser does not report the end of a copy. */
const MEASURES = Object.entries({
  picked: ['picked', 'finish'],
  stored: ['storage', 'download'],
  streamed: ['streamed'],
}) as [SaveMethod, (keyof Rates)[]][];
/** The largest factor between a rate and the typical one. Anything beyond it is a disturbed measurement. */
const RANGE = { measured: 16, probed: 4 };
/** The weight of a new measurement against all earlier ones: 0 to 1. */
const WEIGHT = 0.5;
/** The least data, in bytes, that a conversion must have to measure a rate. */
const ENOUGH = 32e6;

/** Loads kept rates. Where storage is forbidden, there are none, and every visit probes. */
function load(what: Remembered): Partial<Rates> {
  try {
    const kept = JSON.parse(remembered(what) ?? '{}');
    return Object.fromEntries(KEYS.filter((key) => kept[key] > 0).map((key) => [key, kept[key]]));
  } catch {
    // Something else is stored there.
    return {};
  }
}

const isWhole = (rates: Partial<Rates>): rates is Rates => KEYS.every((key) => rates[key] !== undefined);

function bounded<R extends Partial<Rates>>(rates: R, range: number): R {
  const entries = Object.entries(rates) as [keyof Rates, number][];
  const bound = (key: keyof Rates, rate: number) =>
    Math.min(Math.max(rate, TYPICAL[key] / range), TYPICAL[key] * range);
  return Object.fromEntries(entries.map(([key, rate]) => [key, bound(key, rate)])) as R;
}

/** The bytes that the probe writes. */
const PROBE = 8 << 20;
/** The name of the probe's file in the private file system, and of the lock on it. */
const PROBE_FILE = 'decant-probe';
/**
 * Rates as multiples of what can be probed: writing through `createWritable`, and hashing, which takes most of the time for
 * completing a file. Measured in Chromium. The first conversion replaces them.
 */
const SHARES = { storage: 2, picked: 0.8, finish: 0.35, download: 2, streamed: 0.8 };

/** Measures `work` in bytes per second, as the better of two trials, since either may be disturbed. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const rates: number[] = [];
  for (let trial = 0; trial < 2; trial += 1) {
    const start = performance.now();
    await work();
    rates.push(PROBE / ((performance.now() - start) / 1000));
  }
  return Math.max(...rates);
}

/** Probes the private storage. One tab at a time, since the file is removed at the end. */
export const probe = (): Promise<Rates> => navigator.locks.request(PROBE_FILE, probeAlone) as Promise<Rates>;

async function probeAlone(): Promise<Rates> {
  const bytes = new Uint8Array(PROBE);
  const root = await navigator.storage.getDirectory();
  const file = await root.getFileHandle(PROBE_FILE, { create: true });
  try {
    const writable = await file.createWritable();
    const writing = await timed(() => writable.write(bytes));
    await writable.abort();
    const hashing = await timed(() => crypto.subtle.digest('SHA-256', bytes));
    return {
      storage: writing * SHARES.storage,
      picked: writing * SHARES.picked,
      finish: Math.min(hashing, writing * 2) * SHARES.finish,
      download: writing * SHARES.download,
      streamed: writing * SHARES.streamed,
    };
  } finally {
    // A file that stays is harmless: it is empty, since nothing was committed, and the next probe reuses it.
    await root.removeEntry(PROBE_FILE).catch(() => {});
  }
}

/** The probe under way: a second call waits for it. */
let probing: Promise<Rates> | undefined;

function probeOnce(probe: () => Promise<Rates>): Promise<Rates> {
  probing ??= probe().finally(() => {
    probing = undefined;
  });
  return probing;
}

/** Returns the rates of this browser. On the first visit, `probe` estimates them. `undefined` if it fails. */
export async function currentRates(probe: () => Promise<Rates>): Promise<Known | undefined> {
  const found = bounded(load(MEASURED), RANGE.measured);
  const measured = MEASURES.filter(([, keys]) => keys.every((key) => found[key] !== undefined)).map(
    ([method]) => method,
  );
  if (isWhole(found)) return { rates: found, measured };
  try {
    const before = load(PROBED);
    const probed = isWhole(before) ? before : await probeOnce(probe);
    remember(PROBED, JSON.stringify(probed));
    return { rates: { ...bounded(probed, RANGE.probed), ...found }, measured };
  } catch {
    return undefined;
  }
}

/** Updates the rates from a conversion of `data` bytes of data. */
export function recordRates(method: SaveMethod, { virtualSize, time }: ConvertResult, data: number): void {
  if (method === 'host') return;
  const rates = load(MEASURED);
  const take = (key: keyof Rates, bytes: number, seconds: number) => {
    if (bytes < ENOUGH || seconds <= 0) return;
    const rate = bytes / seconds;
    rates[key] = rates[key] ? rates[key] * (1 - WEIGHT) + rate * WEIGHT : rate;
  };
  if (method === 'streamed') take('streamed', virtualSize, time.converting + time.finalizing);
  else take(method === 'picked' ? 'picked' : 'storage', data, time.converting);
  if (method === 'picked') take('finish', virtualSize, time.finalizing);
  remember(MEASURED, JSON.stringify(rates));
}

/** The duration of each part of a conversion, in seconds. */
export interface Prediction {
  converting: number;
  /** Completing the file in the browser, after the last write. */
  finishing: number;
  /** Copying the file in the browser, after the page is done. */
  copying: number;
}

/** Predicts the conversion of a disk of `virtualSize` bytes with `data` bytes of data. */
export function predict(rates: Rates, method: SaveMethod, virtualSize: number, data: number): Prediction {
  switch (method) {
    case 'picked':
      return { converting: data / rates.picked, finishing: virtualSize / rates.finish, copying: 0 };
    case 'stored':
      return { converting: data / rates.storage, finishing: 0, copying: virtualSize / rates.download };
    case 'host':
      return { converting: data / rates.storage, finishing: 0, copying: 0 };
    case 'streamed':
      return { converting: Math.max(virtualSize / rates.streamed, data / rates.storage), finishing: 0, copying: 0 };
  }
}
