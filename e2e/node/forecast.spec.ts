// The page's time left: right where data and holes are anything but evenly spread, as in every real disk.

import type { Progress } from 'decant';
import { Forecast } from '../../web/converter/forecast.js';
import { expect, test } from '../support/node.js';

const DATA = 1e9;
const GUEST = 10e9;
/** Bytes of data per second. */
const RATE = 250e6;

/** What is reported `at` seconds after the start, of a disk whose data lies in its first tenth. */
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

/** Runs `work` with a clock of its own, in seconds; the test's runner has the real one before and after it. */
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

// (name, rate that was learned, seconds to finish)
for (const [name, learned, finishing] of [
  ['nothing learned', undefined, undefined],
  ['learned well', RATE, undefined],
  ['learned on a machine that was busy', RATE / 3, undefined],
  ['learned from another kind of image', RATE * 3, undefined],
  ['a picked file, which takes longer to be finished than to be written', RATE, 8],
] as const) {
  test(`within a quarter once a fifth is done: ${name}`, () => {
    const forecast = new Forecast(DATA, learned, finishing);
    const total = DATA / RATE + (finishing ?? 0);
    const shown: [left: number, really: number][] = [];
    withClock((set) => {
      for (let now = 0; now < DATA / RATE; now += 0.1) {
        set(now);
        const left = forecast.secondsLeft(progressAt(now));
        if (now >= 0.2 * total) shown.push([left!, total - now]);
      }
    });
    expect(shown.length).toBeGreaterThan(5);
    for (const [left, really] of shown) {
      expect(left).toBeGreaterThan(0.75 * really);
      expect(left).toBeLessThan(1.25 * really);
    }
  });
}

test('the bar shows the data, or the disk where the data is not known', () => {
  expect(new Forecast(DATA, RATE, undefined).share(progressAt(2))).toBe(0.5);
  expect(new Forecast(undefined, RATE, undefined).share(progressAt(2))).toBe(0.05);
  expect(new Forecast(0, RATE, undefined).share({ ...progressAt(0), guestTotal: 0 })).toBe(0);
});
