import { expect, test } from 'vitest';
import { differingParts, newSeed, SUMMED } from './guest-sums.js';

/** Sums as the core makes them: `[number of the MiB, sum]`, in an array that begins at an odd position of its buffer. */
function sums(...entries: [number, number][]): Uint8Array {
  const bytes = new Uint8Array(1 + 24 * entries.length);
  const view = new DataView(bytes.buffer, 1);
  for (const [at, [number, sum]] of entries.entries()) {
    view.setBigUint64(24 * at, BigInt(number), true);
    view.setBigUint64(24 * at + 16, BigInt(sum), true);
  }
  return bytes.subarray(1);
}

const FAR = 2 ** 33 + 5;
for (const [one, other, parts] of [
  [sums(), sums(), []],
  [sums([2, 7], [FAR, 8]), sums([2, 7], [FAR, 8]), []],
  [sums([2, 7], [FAR, 8]), sums([2, 6], [FAR, 8]), [2]],
  [sums([2, 7], [FAR, 8]), sums([2, 7]), [FAR]],
  [sums([2, 7], [FAR, 8]), sums([1, 7], [3, 1], [FAR, 9]), [1, 2, 3, FAR]],
  [sums([5, 7]), sums([FAR, 7]), [5, FAR]],
] as [Uint8Array, Uint8Array, number[]][]) {
  test(`the parts that differ: ${parts.join(', ') || 'none'}`, () => {
    const expected = parts.map((part) => part * SUMMED);
    expect([...differingParts(one, other)]).toEqual(expected);
    expect([...differingParts(other, one)]).toEqual(expected);
  });
}

test('each seed is another one', () => expect(newSeed()).not.toEqual(newSeed()));
