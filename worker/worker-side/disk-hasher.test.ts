// The SHA-256 of disks, by Node's hash.

import { createHash } from 'node:crypto';
import { afterEach, expect, test, vi } from 'vitest';
import { DiskHasher } from './disk-hasher.js';

const begin = () => {
  const hash = createHash('sha256');
  return { add: (bytes: Uint8Array) => void hash.update(bytes), end: () => hash.digest() };
};

const sha256 = (...parts: Uint8Array[]) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

const MIB = 1 << 20;

afterEach(() => {
  vi.restoreAllMocks();
});

test.each([
  [0, 0],
  [1, 0],
  [0, 1],
  [MIB, MIB],
  [MIB + 1, 3 * MIB - 1],
  [5 * MIB, 5],
])('%d bytes and %d zeros', async (length, zeros) => {
  const hasher = new DiskHasher(begin);
  const bytes = new Uint8Array(length).fill(7);
  for (let disk = 0; disk < 2; disk += 1) {
    await hasher.add(bytes);
    await hasher.addZeros(zeros);
    await hasher.add(bytes.subarray(0, 3));
    expect(hasher.end()).toEqual(sha256(bytes, new Uint8Array(zeros), bytes.subarray(0, 3)));
  }
});

test('messages are handled while it hashes', async () => {
  let stopped = false;
  const hasher = new DiskHasher(() => {
    // Each piece takes longer than a turn, by the clock of the test.
    let time = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => time);
    return {
      add: () => {
        time += 20;
        if (stopped) throw new Error('stopped');
      },
      end: () => new Uint8Array(32),
    };
  });
  setTimeout(() => {
    stopped = true;
  });
  await expect(hasher.addZeros(Number.MAX_SAFE_INTEGER)).rejects.toThrow('stopped');
});
