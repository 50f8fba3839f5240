// A short probe of the speed of this browser on this machine, which loads on demand.

import type { Rates } from './rates.js';

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
