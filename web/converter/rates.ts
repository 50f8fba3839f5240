// How fast this browser on this machine is: from a short probe, then from every conversion made.

import type { Result } from 'decant';

/** Bytes per second. */
export interface Rates {
  /** Converting into the browser's private storage. */
  storage: number;
  /** Converting into a picked file. */
  picked: number;
  /** Completing a picked file, by its full length. */
  finish: number;
  /** Copying a finished file to the downloads, by its full length. */
  download: number;
}

export type Way = 'picked' | 'download';

const KEY = 'decant.rates';
const PROBE = 8 << 20;
/**
 * What cannot be probed, as shares of what can: writing through `createWritable` and hashing, which
 * is what completing a file mostly is. Measured in Chromium; the first conversion replaces them.
 */
const SHARES = { storage: 2, picked: 0.8, finish: 0.35, download: 2 };
/** How much a new measurement counts against the earlier ones. */
const WEIGHT = 0.5;
/** Less data than this tells nothing about a rate. */
const ENOUGH = 32e6;

/** All rates, or none before the first probe. */
function load(): Partial<Rates> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '{}');
  } catch {
    // Storage may be forbidden: then every visit probes.
    return {};
  }
}

function save(rates: Partial<Rates>): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(rates));
  } catch {
    // As above.
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return PROBE / ((performance.now() - start) / 1000);
}

async function probe(): Promise<Rates> {
  const bytes = new Uint8Array(PROBE);
  const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('.decant', { create: true });
  // Without a lock it is a leftover to whoever comes next, so it never stays.
  const name = crypto.randomUUID();
  const file = await folder.getFileHandle(name, { create: true });
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
    };
  } finally {
    await folder.removeEntry(name).catch(() => {});
  }
}

/** The rates of this browser, probed once; undefined where there is no way to know. */
export async function currentRates(): Promise<Rates | undefined> {
  const known = load();
  if (known.download) return known as Rates;
  try {
    const rates = await probe();
    save(rates);
    return rates;
  } catch {
    return undefined;
  }
}

/** The rates of the two steps of a way: converting the data, and what follows for the full length. */
const steps = (way: Way) => (way === 'picked' ? (['picked', 'finish'] as const) : (['storage', 'download'] as const));

/** How fast data is converted by `way`. */
export const convertingRate = (rates: Rates, way: Way): number => rates[steps(way)[0]];

/** Learns from a conversion. */
export function learn(way: Way, result: Result): void {
  const rates = load();
  const take = (key: keyof Rates, bytes: number, milliseconds: number) => {
    if (bytes < ENOUGH || milliseconds <= 0) return;
    const rate = bytes / (milliseconds / 1000);
    rates[key] = rates[key] ? rates[key] * (1 - WEIGHT) + rate * WEIGHT : rate;
  };
  take(steps(way)[0], result.bytesWritten, result.time.converting);
  if (way === 'picked') take('finish', result.virtualSize, result.time.finalizing);
  save(rates);
}

/** Seconds until the file is on the disk, for a disk of `virtualSize` bytes with `data` bytes of data. */
export function predict(rates: Rates, way: Way, virtualSize: number, data: number): number {
  const [converting, following] = steps(way);
  return data / rates[converting] + virtualSize / rates[following];
}
