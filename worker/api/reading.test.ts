// Reads of the disk: chunks, their order, failures and cancels.

import { describe, expect, test, vi } from 'vitest';
import type { ImageSession } from '../client-side/image-session.js';
import { cancelled } from '../errors/errors.js';
import { checkRange, READING, readRange, requireWhole, streamOf } from './reading.js';

const MIB = 1 << 20;
const CHUNK = 4 * MIB;

/** A disk whose bytes are a function of their offsets, and a record of its reads. */
function disk() {
  const reads: [offset: number, length: number][] = [];
  const read = async (offset: number, length: number) => {
    reads.push([offset, length]);
    return new Uint8Array(length).fill(Math.floor(offset / MIB));
  };
  return { reads, read };
}

describe('readRange', () => {
  const sessionOf = (read: (offset: number, length: number) => Promise<Uint8Array>) =>
    ({
      image: 7,
      client: { call: (_: string, { offset, length }: { offset: number; length: number }) => read(offset, length) },
      run: (_: AbortSignal, work: (operation: number) => Promise<unknown>) => work(1),
    }) as unknown as ImageSession;
  const { signal } = new AbortController();

  test.each<[number, number, [number, number][]]>([
    [5, 10, [[5, 10]]],
    [3 * MIB, CHUNK, [[3 * MIB, CHUNK]]],
    // Chunks end at multiples of 4 MiB.
    [
      3 * MIB,
      CHUNK + 1,
      [
        [3 * MIB, MIB],
        [CHUNK, 3 * MIB + 1],
      ],
    ],
    [
      0,
      9 * MIB,
      [
        [0, CHUNK],
        [CHUNK, CHUNK],
        [2 * CHUNK, MIB],
      ],
    ],
  ])('from %i, %i bytes', async (offset, length, expected) => {
    const { reads, read } = disk();
    const bytes = await readRange(sessionOf(read), offset, length, signal);
    expect(reads).toEqual(expected);
    expect(bytes).toHaveLength(length);
    for (const [start] of reads) expect(bytes[start - offset]).toBe(Math.floor(start / MIB));
  });

  test('a buffer that does not fit into memory', async () => {
    const size = 2 ** 50;
    const error = { kind: 'internal', code: 'out-of-memory', fields: { size } };
    await expect(readRange(sessionOf(disk().read), 0, size, signal)).rejects.toMatchObject(error);
  });

  test('reads nothing after a failed chunk', async () => {
    const read = vi.fn().mockRejectedValue(cancelled());
    await expect(readRange(sessionOf(read), 0, 3 * CHUNK, signal)).rejects.toEqual(cancelled());
    expect(read).toHaveBeenCalledTimes(1);
  });
});

describe('streamOf', () => {
  const confirm = async () => {};
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const lengths: number[] = [];
    for await (const piece of stream as unknown as AsyncIterable<Uint8Array>) lengths.push(piece.length);
    return lengths;
  };

  test.each([
    [0, 10, [10]],
    [0, CHUNK, [CHUNK]],
    [MIB, 2 * CHUNK + 1, [3 * MIB, CHUNK, 1]],
    [70, 70, []],
  ])('from %i to %i', async (start, end, lengths) => {
    const { read } = disk();
    expect(await collect(streamOf(start, end, read, confirm, undefined))).toEqual(lengths);
  });

  test('is one chunk ahead of the reader', async () => {
    const { reads, read } = disk();
    const reader = streamOf(0, 10 * CHUNK, read, confirm, undefined).getReader();
    await reader.read();
    await new Promise(setImmediate);
    expect(reads).toHaveLength(2);
    await reader.cancel();
    await new Promise(setImmediate);
    expect(reads).toHaveLength(2);
  });

  test('ends after the confirmation that the disk has not changed', async () => {
    const { read } = disk();
    const refusing = () => Promise.reject(new Error('the image was changed'));
    const reader = streamOf(0, CHUNK + 1, read, refusing, undefined).getReader();
    await reader.read();
    await expect(reader.read().then(() => reader.read())).rejects.toThrow('the image was changed');
    expect(await collect(streamOf(5, 5, read, refusing, undefined))).toEqual([]);
  });

  test('a cancel ends the read under way', async () => {
    const signals: AbortSignal[] = [];
    const hanging = (_: number, __: number, signal: AbortSignal) => {
      signals.push(signal);
      return new Promise<never>(() => {});
    };
    const reader = streamOf(0, CHUNK, hanging, confirm, undefined).getReader();
    await new Promise(setImmediate);
    await reader.cancel();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test('a signal fails a stream that is held, and one that has not started', async () => {
    const { read } = disk();
    const abort = new AbortController();
    const reader = streamOf(0, 10 * CHUNK, read, confirm, abort.signal).getReader();
    await reader.read();
    abort.abort();
    await expect(reader.read()).rejects.toEqual(cancelled(READING, abort.signal));
    const late = streamOf(0, CHUNK, read, confirm, abort.signal).getReader();
    await expect(late.read()).rejects.toEqual(cancelled(READING, abort.signal));
  });
});

describe('ranges', () => {
  test.each([-1, 0.5, Number.NaN, 2 ** 60, '0', undefined, null])('%j is refused as a whole number', (value) => {
    const message = "'offset' must be a whole number from 0 to 2^53-1";
    expect(() => requireWhole('offset', value)).toThrow(expect.objectContaining({ kind: 'usage', message }));
  });

  test.each([0, 1, 2 ** 53 - 1])('%j is accepted', (value) => {
    requireWhole('offset', value);
  });

  test.each([
    [0, 10, true],
    [10, 0, true],
    [5, 1, true],
    [9, 2, false],
    [0, 11, false],
    [11, 0, false],
  ])('from %i, %i of 10 bytes', (offset, length, isRight) => {
    const check = () => checkRange(offset, length, 10);
    const message = `The disk has 10 bytes, but the range has ${length} from byte ${offset} on`;
    if (isRight) check();
    else expect(check).toThrow(expect.objectContaining({ kind: 'usage', message }));
  });
});
