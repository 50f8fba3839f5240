// Rates without a probe: there is no private file system here, as in some private windows.

import type { ConvertResult } from 'decant';
import { expect, test } from 'vitest';
import type { SaveMethod } from '../types.texts-results.js';
import { currentRates, type Known, type Prediction, predict, recordRates, TYPICAL } from './rates.js';

const noProbe = async () => {
  throw new Error('There is no storage');
};

/** Runs `work` with stored rates. */
async function withKept(work: (kept: Map<string, string>) => Promise<void>): Promise<void> {
  const kept = new Map<string, string>();
  const localStorage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
  };
  const before = Object.getOwnPropertyDescriptor(globalThis, 'localStorage');
  Object.defineProperty(globalThis, 'localStorage', { value: localStorage, configurable: true });
  try {
    await work(kept);
  } finally {
    if (before) Object.defineProperty(globalThis, 'localStorage', before);
    else Reflect.deleteProperty(globalThis, 'localStorage');
  }
}

test('the rate of one download does not count as all rates', async () => {
  await withKept(async () => {
    const result = { virtualSize: 1e9, time: { converting: 1, finalizing: 1 } } as ConvertResult;
    recordRates('streamed', result, 1e9);
    expect(await currentRates(noProbe)).toBeUndefined();
  });
});

test('stored values that are not rates are ignored', async () => {
  const { download: _, ...lacking } = TYPICAL;
  await withKept(async (kept) => {
    for (const value of [null, [], 'fast', lacking, { ...TYPICAL, finish: 0 }, { ...TYPICAL, picked: 'fast' }]) {
      kept.set('decant.rates', JSON.stringify(value));
      expect(await currentRates(noProbe)).toBeUndefined();
    }
    kept.set('decant.rates', JSON.stringify(TYPICAL));
    expect(await currentRates(noProbe)).toEqual({ rates: TYPICAL, measured: ['picked', 'stored', 'streamed'] });
  });
});

test('an image that is shown during the probe waits for it, and none probes again', async () => {
  await withKept(async () => {
    let probes = 0;
    let answer = (_: typeof TYPICAL) => {};
    const probe = () => {
      probes += 1;
      return new Promise<typeof TYPICAL>((resolve) => {
        answer = resolve;
      });
    };
    const both = Promise.all([currentRates(probe), currentRates(probe)]);
    answer(TYPICAL);
    expect(await both).toEqual([TYPICAL, TYPICAL].map((rates) => ({ rates, measured: [] })));
    expect(await currentRates(probe)).toBeDefined();
    expect(probes).toBe(1);
  });
});

test('a probe that fails is tried again', async () => {
  await withKept(async () => {
    expect(await currentRates(noProbe)).toBeUndefined();
    expect(await currentRates(async () => TYPICAL)).toEqual({ rates: TYPICAL, measured: [] });
  });
});

const even = { storage: 1e8, picked: 2e8, finish: 1e9, download: 5e8, streamed: 4e8 };

/** The stored rates, from `even`, after a conversion of 10 GB that took a second for each phase. */
async function learned(
  method: SaveMethod,
  data: number,
  kept: object = even,
  times = {},
): Promise<Record<string, number>> {
  let rates = {};
  await withKept(async (all) => {
    all.set('decant.rates', JSON.stringify(kept));
    const time = { unlocking: 0, preparing: 0, converting: 1, finalizing: 1, ...times };
    recordRates(method, { virtualSize: 10e9, time } as ConvertResult, data);
    rates = JSON.parse(all.get('decant.rates')!);
  });
  return rates;
}

// (method, changed rates: half of the known and half of the measured one)
for (const [method, changed] of [
  ['picked', { picked: 1.1e9, finish: 5.5e9 }],
  ['stored', { storage: 1.05e9 }],
  ['streamed', { streamed: 2.7e9 }],
  ['host', {}],
] as [SaveMethod, object][]) {
  test(`a conversion by the method ${method} measures ${Object.keys(changed).join(' and ') || 'nothing'}`, async () => {
    expect(await learned(method, 2e9)).toEqual({ ...even, ...changed });
  });
}

test('little data or no time measures nothing; a first measurement counts fully', async () => {
  expect(await learned('stored', 31e6)).toEqual(even);
  expect(await learned('stored', 2e9, even, { converting: 0 })).toEqual(even);
  expect(await learned('stored', 2e9, {})).toEqual({ storage: 2e9 });
});

// (method; seconds of each part for a disk of 10 GB with 1 GB of data)
for (const [method, converting, finishing, copying] of [
  ['picked', 5, 10, 0],
  ['stored', 10, 0, 20],
  ['streamed', 25, 0, 0],
  ['host', 10, 0, 0],
] as const) {
  test(`predicted times: ${method}`, () => {
    expect(predict(even, method, 10e9, 1e9)).toEqual<Prediction>({ converting, finishing, copying });
  });
}

test('a stream is not faster than the conversion of its data', () => {
  expect(predict(even, 'streamed', 10e9, 10e9).converting).toBe(100);
});

/** The current rates if the probe has found `probed` and conversions have `measured`. */
async function known(probed: object, measured: object): Promise<Known | undefined> {
  let found: Known | undefined;
  await withKept(async (kept) => {
    kept.set('decant.probed', JSON.stringify(probed));
    kept.set('decant.rates', JSON.stringify(measured));
    found = await currentRates(noProbe);
  });
  return found;
}

test('measured rates override probed ones, and are marked as measured', async () => {
  expect(await known(TYPICAL, { storage: 2e9, streamed: 1e8 })).toEqual({
    rates: { ...TYPICAL, storage: 2e9, streamed: 1e8 },
    measured: ['streamed'],
  });
});

test('no rate is far from the typical one', async () => {
  const all = (rate: number) => Object.fromEntries(Object.keys(TYPICAL).map((key) => [key, rate]));
  const { storage } = TYPICAL;
  expect((await known(all(1), {}))?.rates.storage).toBe(storage / 4);
  expect((await known(all(1e15), {}))?.rates.storage).toBe(storage * 4);
  expect((await known(all(1), all(1)))?.rates.storage).toBe(storage / 16);
  expect((await known(all(1), all(1e15)))?.rates.storage).toBe(storage * 16);
});
