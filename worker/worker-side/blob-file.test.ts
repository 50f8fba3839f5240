// Reading a file by a stream and by slices.

import { afterEach, expect, test, vi } from 'vitest';
import { BlobFile } from './blob-file.js';

const MIB = 1 << 20;
const CONTENT = Uint8Array.from({ length: 16 * MIB }, (_, at) => (at >> 12) ^ at);

/** A file that records its slices as `[start, end]`; a stream has no end. */
class Recorded extends Blob {
  readonly slices: [number, number | undefined][] = [];
  /** The stream of the part from `start`. */
  streamFrom: ((start: number) => ReadableStream) | undefined;

  override slice(start: number, end?: number): Blob {
    this.slices.push([start, end]);
    const part = super.slice(start, end);
    if (end === undefined && this.streamFrom) Object.assign(part, { stream: () => this.streamFrom!(start) });
    return part;
  }
}

const recorded = () => new Recorded([CONTENT]);

afterEach(() => {
  vi.useRealTimers();
});

/** Reads a range, and checks its bytes. Resolves to the sizes of the pieces. */
async function read(file: BlobFile, start: number, length: number): Promise<number[]> {
  return readAll(file.begin(start, length), start, length);
}

async function readAll(range: ReturnType<BlobFile['begin']>, start: number, length: number): Promise<number[]> {
  const sizes: number[] = [];
  for (let at = start; at < start + length; at += sizes.at(-1)!) {
    const piece = await range.next();
    expect(Buffer.compare(piece, CONTENT.subarray(at, at + piece.length))).toBe(0);
    sizes.push(piece.length);
  }
  range.end();
  return sizes;
}

const K = 1 << 10;

// (ranges as `[start, length]`; slices and streams, whose end is `undefined`)
for (const [what, ranges, slices] of [
  [
    'ranges that follow each other, by one stream',
    [
      [0, 3 * MIB],
      [3 * MIB, 5 * MIB],
      [8 * MIB, 8 * MIB],
    ],
    [
      [0, 3 * MIB],
      [3 * MIB, undefined],
    ],
  ],
  [
    'small gaps, over which the stream reads',
    [
      [0, 10],
      [K, 10],
      [K + 10 + 256 * K, MIB],
    ],
    [
      [0, 10],
      [K, undefined],
    ],
  ],
  [
    'ranges that jump',
    [
      [MIB, 10],
      [0, 10],
      [4 * MIB, 10],
      [4 * MIB + 11 + 256 * K, 10],
    ],
    [
      [MIB, MIB + 10],
      [0, 10],
      [4 * MIB, 4 * MIB + 10],
      [4 * MIB + 11 + 256 * K, 4 * MIB + 21 + 256 * K],
    ],
  ],
  [
    'a jump ends the stream, and the next ranges have another one',
    [
      [0, MIB],
      [MIB, MIB],
      [10 * MIB, MIB],
      [11 * MIB, MIB],
    ],
    [
      [0, MIB],
      [MIB, undefined],
      [10 * MIB, 11 * MIB],
      [11 * MIB, undefined],
    ],
  ],
] as [string, [number, number][], [number, number | undefined][]][]) {
  test(what, async () => {
    const blob = recorded();
    const file = new BlobFile(blob, true);
    for (const [start, length] of ranges) await read(file, start, length);
    expect(blob.slices).toEqual(slices);
    file.close();
  });
}

test('a file whose jobs are in no row has no streams', async () => {
  const blob = recorded();
  const file = new BlobFile(blob, false);
  for (const start of [0, MIB, 2 * MIB]) expect(await read(file, start, MIB)).toEqual([MIB]);
  expect(blob.slices).toHaveLength(3);
});

test('ranges of a stream are read one after another, in pieces of 2 MiB', async () => {
  const file = new BlobFile(recorded(), true);
  await read(file, 0, MIB);
  const [first, second] = [file.begin(MIB, 5 * MIB), file.begin(6 * MIB, 3 * MIB)];
  // The second one waits, although it is asked first.
  const sizes = readAll(second, 6 * MIB, 3 * MIB);
  expect(await readAll(first, MIB, 5 * MIB)).toEqual([2 * MIB, 2 * MIB, MIB]);
  expect(await sizes).toEqual([2 * MIB, MIB]);
});

test('a range that ends early does not hold up the next one', async () => {
  const blob = recorded();
  const file = new BlobFile(blob, true);
  await read(file, 0, MIB);
  const [first, second, third] = [MIB, 4 * MIB, 7 * MIB].map((start) => file.begin(start, 3 * MIB));
  await first!.next();
  first!.end();
  second!.end();
  await readAll(third!, 7 * MIB, 3 * MIB);
  expect(blob.slices).toHaveLength(2);
});

type Pull = NonNullable<UnderlyingByteSource['pull']>;

/** A stream of the content from `start` that does `what` after `length` bytes. */
const upTo = (start: number, length: number, what: Pull) =>
  new ReadableStream({
    type: 'bytes',
    start: (controller) => controller.enqueue(CONTENT.slice(start, start + length)),
    pull: what,
  });

for (const [what, does] of [
  ['fails', (controller) => controller.error(new Error('gone'))],
  [
    'ends',
    (controller) => {
      controller.close();
      controller.byobRequest?.respond(0);
    },
  ],
] as [string, Pull][]) {
  test(`a stream that ${what} is replaced by slices, also for later ranges`, async () => {
    const blob = recorded();
    const file = new BlobFile(blob, true);
    await read(file, 0, MIB);
    blob.streamFrom = (start) => upTo(start, 3 * MIB, does);
    expect(await read(file, MIB, 5 * MIB)).toEqual([2 * MIB, 3 * MIB]);
    await read(file, 6 * MIB, MIB);
    expect(blob.slices).toEqual([
      [0, MIB],
      [MIB, undefined],
      [3 * MIB, 6 * MIB],
      [6 * MIB, 7 * MIB],
    ]);
  });
}

test('a browser whose streams take no buffers reads slices', async () => {
  const blob = recorded();
  blob.streamFrom = () => new ReadableStream();
  const file = new BlobFile(blob, true);
  for (const start of [0, MIB, 2 * MIB]) expect(await read(file, start, MIB)).toEqual([MIB]);
});

test('a stream that stands still is replaced by slices', async () => {
  const blob = recorded();
  const file = new BlobFile(blob, true);
  await read(file, 0, MIB);
  blob.streamFrom = (start) => upTo(start, MIB, () => new Promise(() => {}));
  vi.useFakeTimers();
  const sizes = read(file, MIB, 3 * MIB);
  await vi.advanceTimersByTimeAsync(6000);
  vi.useRealTimers();
  expect(await sizes).toEqual([3 * MIB]);
});

test('a slice for which memory is short is read in halves', async () => {
  const tried: number[] = [];
  class Large extends Blob {
    override slice(start: number, end: number): Blob {
      tried.push(end - start);
      const part = super.slice(start, end);
      const tooLarge = async () => {
        throw new DOMException('', 'NotReadableError');
      };
      return end - start > 512 * K ? Object.assign(part, { arrayBuffer: tooLarge }) : part;
    }
  }
  const file = new BlobFile(new Large([CONTENT]), true);
  const quarter = 256 * K;
  const sizes = [quarter, quarter, quarter, quarter, 3];
  expect(await read(file, 0, MIB + 3)).toEqual(sizes);
  expect(tried).toEqual([MIB + 3, MIB / 2 + 1, ...sizes]);
});

test('a file that cannot be read fails as its slices do', async () => {
  const blob = recorded();
  const failure = new DOMException('It has changed', 'NotReadableError');
  vi.spyOn(Blob.prototype, 'arrayBuffer').mockRejectedValue(failure);
  const file = new BlobFile(blob, true);
  await expect(file.begin(0, 3 * MIB).next()).rejects.toBe(failure);
  vi.restoreAllMocks();
  expect(blob.slices.map(([, end]) => end)).toEqual([3, 1.5, 0.75, 0.375, 0.25].map((share) => share * MIB));
});
