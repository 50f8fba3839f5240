// The page's rates where nothing can be probed: no private file system is here, as in some private windows.

import type { Result } from 'decant';
import { expect, test } from 'vitest';
import { currentRates, learn, TYPICAL } from './rates.js';

/** Runs `work` with what the page has kept. */
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

test('what one download taught is not taken for all rates', async () => {
  await withKept(async () => {
    const result = { virtualSize: 1e9, time: { converting: 1000, finalizing: 1000 } } as Result;
    learn('streamed', result, 1e9);
    expect(await currentRates()).toBeUndefined();
  });
});

test('only rates are taken for rates', async () => {
  const { download: _, ...lacking } = TYPICAL;
  await withKept(async (kept) => {
    for (const value of [null, [], 'fast', lacking, { ...TYPICAL, finish: 0 }, { ...TYPICAL, picked: 'fast' }]) {
      kept.set('decant.rates', JSON.stringify(value));
      expect(await currentRates()).toBeUndefined();
    }
    kept.set('decant.rates', JSON.stringify(TYPICAL));
    expect(await currentRates()).toEqual(TYPICAL);
  });
});
