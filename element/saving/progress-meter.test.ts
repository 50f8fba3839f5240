// The measure of a conversion: it only grows, through all phases, and its time left is right even if data and holes are
// unevenly spread, as on every real disk.

import type { Progress } from 'decant';
import { expect, test } from 'vitest';
import type { Rates } from '../ways/rates.js';
import { ProgressMeter } from './progress-meter.js';

const DATA = 1e9;
const GUEST = 10e9;
/** Bytes of data per second. */
const RATE = 250e6;

/** Rates for a picked file with which the browser takes `finishing` seconds to complete it. */
const ratesOf = (picked: number, finishing = 0): Rates => ({
  picked,
  finish: finishing > 0 ? GUEST / finishing : Number.POSITIVE_INFINITY,
  storage: picked,
  download: 1e9,
  streamed: picked,
});

/** The progress `at` seconds after the start, for a disk with all data in its first tenth. */
const progressAt = (at: number): Progress => ({
  phase: 'converting',
  unlocked: 0,
  guestDone: RATE * at,
  guestTotal: GUEST,
  dataDone: RATE * at,
  bytesRead: 0,
  bytesWritten: 0,
  bytesPerSecond: RATE,
  secondsLeft: (GUEST - RATE * at) / RATE,
});

/** Runs `work` with a fake clock in seconds; the test runner has the real one before and afterwards. */
function withClock(work: (set: (seconds: number) => void) => void): void {
  const real = performance.now;
  let now = 0;
  performance.now = () => now * 1000;
  try {
    work((seconds) => {
      now = seconds;
    });
  } finally {
    performance.now = real;
  }
}

// (case, learned rate, seconds to finish)
for (const [name, learned, finishing] of [
  ['nothing learned', undefined, undefined],
  ['learned well', RATE, undefined],
  ['learned on a busy machine', RATE / 3, undefined],
  ['learned from another kind of image', RATE * 3, undefined],
  ['a picked file that takes longer to finish than to write', RATE, 8],
] as const) {
  test(`the time left is right within a quarter after a fifth is done: ${name}`, () => {
    const rates = learned === undefined ? undefined : ratesOf(learned, finishing);
    const method = finishing === undefined ? 'stored' : 'picked';
    const isMeasured = learned !== undefined;
    const meter = new ProgressMeter({ method, virtualSize: GUEST, data: DATA, fileSize: GUEST, rates, isMeasured });
    const total = DATA / RATE + (finishing ?? 0);
    const shown: [left: number, really: number][] = [];
    withClock((set) => {
      for (let now = 0; now < DATA / RATE; now += 0.1) {
        set(now);
        meter.update(progressAt(now));
        const { secondsLeft } = meter.read();
        if (now >= 0.2 * total) shown.push([secondsLeft!, total - now]);
      }
    });
    expect(shown.length).toBeGreaterThan(5);
    for (const [left, really] of shown) {
      expect(left).toBeGreaterThan(0.75 * really);
      expect(left).toBeLessThan(1.25 * really);
    }
  });
}

test('the share is that of the data, or of the disk if the data is unknown', () => {
  const work = { method: 'stored', virtualSize: GUEST, fileSize: GUEST, isMeasured: false } as const;
  // (data, at, share)
  for (const [data, at, share] of [
    [DATA, 2, 0.5],
    [undefined, 2, 0.05],
    [0, 0, 0],
  ] as const) {
    const meter = new ProgressMeter({ ...work, data });
    meter.update(progressAt(at));
    expect(meter.read().share).toBe(share);
  }
});

test('the share of a stream counts the bytes that the browser has taken', () => {
  let taken = 0;
  const meter = new ProgressMeter({
    method: 'streamed',
    virtualSize: GUEST,
    fileSize: GUEST,
    data: DATA,
    rates: ratesOf(RATE),
    isMeasured: true,
    taken: () => taken,
  });
  meter.update(progressAt(4));
  expect(meter.read().share).toBe(0);
  taken = GUEST / 2;
  expect(meter.read().share).toBe(0.5);
  taken = GUEST;
  meter.update({ ...progressAt(4), phase: 'finalizing' });
  expect(meter.read().share).toBe(1);
});

test('the share only grows, from the first byte to the complete file, and never reaches its end too early', () => {
  // Finishing takes twice as long as predicted.
  const meter = new ProgressMeter({
    method: 'picked',
    virtualSize: GUEST,
    fileSize: GUEST,
    data: DATA,
    rates: ratesOf(RATE, 6),
    isMeasured: true,
  });
  const shares: number[] = [];
  withClock((set) => {
    for (let now = 0; now < 4; now += 0.1) {
      set(now);
      // Parts are reported out of order.
      meter.update(progressAt(Math.max(0, now - (shares.length % 3) / 5)));
      shares.push(meter.read().share);
    }
    meter.update({ ...progressAt(4), phase: 'finalizing' });
    for (let now = 4; now < 16; now += 0.1) {
      set(now);
      shares.push(meter.read().share);
    }
  });
  expect(shares).toEqual(shares.toSorted((a, b) => a - b));
  expect(shares[39]).toBeCloseTo(0.4, 1);
  expect(shares.at(-1)).toBeLessThan(1);
  expect(shares.at(-1)).toBeGreaterThan(0.95);
});

test('the speed during a conversion is the speed that is shown at its end', () => {
  const meter = new ProgressMeter({
    method: 'picked',
    virtualSize: GUEST,
    fileSize: GUEST,
    data: DATA,
    rates: ratesOf(RATE, 6),
    isMeasured: true,
  });
  withClock((set) => {
    meter.update(progressAt(0));
    for (const now of [1, 2, 4]) {
      set(now);
      meter.update({ ...progressAt(now), phase: now === 4 ? 'finalizing' : 'converting' });
      expect(meter.read().speed).toBe(RATE);
    }
    set(60);
    expect(meter.read().speed).toBe(RATE);
  });
});

// (case, progress while nothing comes)
for (const [what, stalled] of [
  ['a server', { waiting: { host: 'example.org', status: 503, attempt: 3 } }],
  ['a silent network', { network: { received: 1, sent: 0, retries: 1, silence: 5 } }],
] as [string, Partial<Progress>][]) {
  test(`while ${what} is waited for, neither the time left nor the speed is known`, () => {
    const meter = new ProgressMeter({
      method: 'stored',
      virtualSize: GUEST,
      fileSize: GUEST,
      data: DATA,
      isMeasured: false,
    });
    withClock((set) => {
      meter.update(progressAt(0));
      set(2);
      meter.update(progressAt(2));
      expect(meter.read()).toMatchObject({ secondsLeft: 2, speed: RATE });
      for (const now of [7, 60]) {
        set(now);
        meter.update({ ...progressAt(2), ...stalled });
        expect(meter.read()).toMatchObject({ share: 0.5, secondsLeft: undefined, speed: undefined });
        expect(meter.speed()).toBe((2 * RATE) / now);
      }
      meter.update(progressAt(3));
      expect(meter.read()).toMatchObject({ secondsLeft: expect.any(Number), speed: expect.any(Number) });
    });
  });
}

// (case, whether the output is compressed, known size of the disk, bytes of the output for each byte of data)
for (const [what, compressed, guestTotal, made] of [
  ['compressed', true, GUEST, 0.25],
  ['of unknown size', false, undefined, 1],
] as const) {
  test(`an output that is ${what}: finishing is predicted from its size, and the bar does not jump`, () => {
    // A tenth of the measured speed, because compression takes time.
    const rate = RATE / 10;
    const finish = made * DATA;
    const rates = { ...ratesOf(RATE), finish };
    const total = DATA / rate + 1;
    const meter = new ProgressMeter({
      method: 'picked',
      virtualSize: DATA,
      fileSize: undefined,
      data: DATA,
      rates,
      isMeasured: true,
      compressed,
    });
    const { guestTotal: _, ...unsized } = progressAt(0);
    const progress = (now: number): Progress => ({
      ...unsized,
      guestDone: rate * now,
      ...(guestTotal === undefined ? {} : { guestTotal }),
      dataDone: rate * now,
      bytesRead: rate * now,
      bytesWritten: rate * now * made,
    });
    withClock((set) => {
      for (let now = 0; now <= DATA / rate; now += 1) {
        set(now);
        meter.update(progress(now));
        const { share, secondsLeft } = meter.read();
        if (now < 4) continue;
        expect(Math.abs(share - now / total)).toBeLessThan(0.03);
        expect(Math.abs(secondsLeft! - (total - now))).toBeLessThan(2);
      }
      meter.update({ ...progress(DATA / rate), phase: 'finalizing' });
      expect(meter.read().share).toBeCloseTo(DATA / rate / total, 1);
    });
  });
}

test('a standstill is counted from the last progress until the browser completes the file', () => {
  const meter = new ProgressMeter({
    method: 'stored',
    virtualSize: GUEST,
    fileSize: GUEST,
    data: DATA,
    isMeasured: false,
  });
  withClock((set) => {
    meter.update(progressAt(0));
    for (const [now, progress, stalled] of [
      [2, progressAt(2), 0],
      [20, progressAt(2), 18],
      [40, progressAt(2), 38],
      [41, progressAt(3), 0],
      [80, { ...progressAt(3), phase: 'finalizing' }, 0],
    ] as [number, Progress, number][]) {
      set(now);
      meter.update(progress);
      const read = meter.read();
      expect(read.stalled).toBe(stalled);
      if (stalled >= 30) expect(read).toMatchObject({ secondsLeft: undefined, speed: undefined });
    }
  });
});

test('reading the result back continues where the conversion ended', () => {
  withClock((set) => {
    const meter = new ProgressMeter({
      method: 'picked',
      virtualSize: GUEST,
      fileSize: GUEST,
      data: DATA,
      isMeasured: false,
      verified: true,
    });
    set(0);
    meter.update(progressAt(0));
    set(4);
    meter.update(progressAt(4));
    set(5);
    meter.update({ ...progressAt(4), phase: 'finalizing' });
    expect(meter.read().finishing).toBe(0);
    set(6);
    const { share: converted, finishing } = meter.read();
    expect(finishing).toBe(1);
    expect(converted).toBeGreaterThan(0);
    expect(converted).toBeLessThanOrEqual(0.9);
    const verifying = { ...progressAt(4), phase: 'verifying', bytesPerSecond: 2e9 } as const;
    meter.update({ ...verifying, fraction: 0.5, secondsLeft: 3 });
    expect(meter.read()).toMatchObject({ share: converted, secondsLeft: 3, speed: 2e9, stalled: 0 });
    set(20);
    meter.update({ ...verifying, fraction: 0.75, secondsLeft: 2 });
    expect(meter.read()).toMatchObject({ share: (converted + 1) / 2, stalled: 0 });
    set(60);
    expect(meter.read()).toMatchObject({ secondsLeft: undefined, speed: undefined, stalled: 40 });
  });
});

test.each([
  // (size of the file, share when all data is written)
  [GUEST, 0.5],
  [undefined, 10 / 11],
])('the browser completes the bytes of the file, not those of the disk: a file of %s bytes', (fileSize, share) => {
  // Writing the data takes as long as completing a file of the size of the disk.
  const rates = ratesOf(RATE, DATA / RATE);
  withClock((set) => {
    const work = { method: 'picked', virtualSize: GUEST, data: DATA, rates, isMeasured: true } as const;
    const meter = new ProgressMeter({ ...work, fileSize });
    set(0);
    meter.update(progressAt(0));
    set(4);
    meter.update(progressAt(4));
    expect(meter.read().share).toBeCloseTo(share);
  });
});
