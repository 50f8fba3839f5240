// MD5 digests, by Node and by WebAssembly as in browsers.

import { createHash } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import * as byNode from './digests.js';

/** Longer than anything takes on a busy machine. */
vi.setConfig({ testTimeout: 60_000 });

vi.stubGlobal('process', { ...process, getBuiltinModule: undefined });
vi.resetModules();
const byWasm: typeof byNode = await import('./digests.js');
vi.unstubAllGlobals();

afterEach(() => void vi.restoreAllMocks());

const MIB = 1 << 20;
const bytesOf = (length: number) => new Uint8Array(Buffer.alloc(length, 'of a length that divides no power of two'));
const expected = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('hex');
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe.each([
  ['Node', byNode],
  ['WebAssembly', byWasm],
])('by %s', (name, { Md5, md5 }) => {
  test('it is the one that was meant', async () => {
    const createHash = vi.spyOn(process.getBuiltinModule('node:crypto'), 'createHash');
    await md5(new Uint8Array(1));
    expect(createHash).toHaveBeenCalledTimes(name === 'Node' ? 1 : 0);
  });

  test.each([0, 1, 64, MIB - 1, MIB, MIB + 1, 3 * MIB])('%i bytes', async (length) => {
    const bytes = bytesOf(length);
    expect(hex(await md5(bytes))).toBe(expected(bytes));
  });

  test('pieces', async () => {
    const bytes = bytesOf(2 * MIB + 100);
    const digest = new Md5();
    for (const [start, end] of [
      [0, 5],
      [5, MIB + 6],
      [MIB + 6, MIB + 6],
      [MIB + 6, bytes.length],
    ]) {
      await digest.add(bytes.subarray(start, end));
    }
    expect(hex(await digest.take())).toBe(expected(bytes));
    // Later bytes begin another digest.
    await digest.add(bytes.subarray(7));
    expect(hex(await digest.take())).toBe(expected(bytes.subarray(7)));
  });

  test.each([
    ['zeros', [3 * MIB + 7]],
    ['zeros, then bytes', [2 * MIB + 1, 'ab']],
    ['bytes, then zeros', ['ab', 2 * MIB + 1]],
    ['zeros and bytes in turn', [5, 'ab', 7, 'cd', 9]],
    ['nothing', []],
  ])('%s', async (_, pieces) => {
    const digest = new Md5();
    // The second time with the hasher of the first.
    for (let turn = 0; turn < 2; turn += 1) {
      for (const piece of pieces) {
        if (typeof piece === 'number') await digest.addZeros(piece);
        else await digest.add(Buffer.from(piece));
      }
      const all = Buffer.concat(
        pieces.map((piece) => (typeof piece === 'number' ? Buffer.alloc(piece) : Buffer.from(piece))),
      );
      expect(hex(await digest.take())).toBe(expected(all));
    }
  });

  test('several at once are independent', async () => {
    const all = [2 * MIB, 10, 3 * MIB + 1, 0, MIB].map(bytesOf);
    const digests = await Promise.all(all.map(md5));
    expect(digests.map(hex)).toEqual(all.map(expected));
    // Nor does one that begins after another has ended.
    expect(hex(await md5(all[0]!))).toBe(expected(all[0]!));
  });
});

test('zeros of one length are digested once', async () => {
  const digest = new byNode.Md5();
  await digest.addZeros(3 * MIB);
  const first = await digest.take();
  const createHash = vi.spyOn(process.getBuiltinModule('node:crypto'), 'createHash');
  await digest.addZeros(2 * MIB);
  await digest.addZeros(MIB);
  expect(await digest.take()).toEqual(first);
  expect(createHash).not.toHaveBeenCalled();
});

test('a large piece yields to the event loop', async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  });
  await byNode.md5(new Uint8Array(3 * MIB));
  clearInterval(timer);
  expect(turns).toBeGreaterThan(0);
});

test('Base64', () => {
  expect(byNode.toBase64(Uint8Array.of(0, 255, 128))).toBe('AP+A');
});
