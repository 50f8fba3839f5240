import { expect, test } from 'vitest';
import { WantedRange } from './wanted-range.js';

const bytes = (...values: number[]) => Uint8Array.from(values);

test('it is complete when all its bytes have arrived, in any order', async () => {
  const wanted = new WantedRange(100, 5);
  wanted.add(103, bytes(3, 4));
  wanted.add(100, bytes(0));
  expect(await Promise.race([wanted.complete, Promise.resolve('pending')])).toBe('pending');
  wanted.add(101, bytes(1, 2));
  expect(await wanted.complete).toEqual(bytes(0, 1, 2, 3, 4));
});

test('a failure rejects it, also without a reader', async () => {
  const wanted = new WantedRange(0, 5);
  wanted.fail(new Error('gone'));
  expect(wanted.isDropped).toBe(true);
  await expect(wanted.complete).rejects.toThrow('gone');
});

test('bytes after a drop are ignored', async () => {
  const wanted = new WantedRange(0, 2);
  wanted.add(0, bytes(1));
  wanted.drop();
  wanted.add(1, bytes(2));
  const first = await Promise.race([wanted.complete, Promise.resolve('pending')]);
  expect(first).toBe('pending');
});
