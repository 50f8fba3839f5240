import { expect, test } from 'vitest';
import { UnitCache } from './unit-cache.js';

const MIB = 1 << 20;
const { signal } = new AbortController();

/** A cache with room for two units, and the data of all that were decoded. */
function cacheOf(count: number) {
  const units = Array.from({ length: count }, (_, at) => ({
    start: at * 10 * MIB,
    length: 10 * MIB,
    offset: at * 30 * MIB,
    size: 30 * MIB,
  }));
  const decoded: { number: number; bytes: Uint8Array<ArrayBuffer> }[] = [];
  const decode = async (number: number) => {
    const bytes = Uint8Array.of(number);
    decoded.push({ number, bytes });
    return { size: 30 * MIB, bytes };
  };
  return { cache: new UnitCache(units, decode, 1), decoded };
}

test('units are decoded again if they have lost their room, which frees their memory', async () => {
  const { cache, decoded } = cacheOf(4);
  for (const number of [0, 2, 0, 2, 3, 0, 3]) {
    await cache.use(number, signal, async ({ bytes }) => expect(bytes).toEqual(Uint8Array.of(number)));
  }
  expect(decoded.map(({ number, bytes }) => [number, bytes.length])).toEqual([
    [0, 0],
    [2, 0],
    [3, 1],
    [0, 1],
  ]);
});

test('the memory of a unit is not freed while it is used', async () => {
  const { cache, decoded } = cacheOf(6);
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const using = cache.use(0, signal, async ({ bytes }) => {
    await finished;
    expect(bytes).toEqual(Uint8Array.of(0));
  });
  for (const number of [2, 4, 0]) await cache.use(number, signal, async () => {});
  expect(decoded.map(({ number, bytes }) => [number, bytes.length])).toEqual([
    [0, 1],
    [2, 0],
    [4, 1],
    [0, 1],
  ]);
  finish();
  await using;
  expect(decoded.map(({ bytes }) => bytes.length)).toEqual([0, 0, 1, 1]);
});
