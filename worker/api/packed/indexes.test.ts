import { deflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Bytes } from '../../public/types.js';
import { gzipIndex } from './gzip-index.js';
import type { PackedFile, PackedIndex } from './packed-index.js';
import { xzIndex } from './xz-index.js';
import { zstdIndex } from './zstd-index.js';

/** By `xz`: a stream of three blocks of 2,000 bytes, one of 6,000 bytes with CRC-32, and 8 bytes of padding. */
const XZ = `/Td6WFoAAATm1rRGA8AZ0A8hAQwAAAAA1M0Y3OAHzwARXQAw7/u//qOxXuX4P7KoHOsyAAAAAACyxYi4wwHxgQPAGdAPIQEMAAAAANTNGNzg
B88AEV0AMO/7v/6jsV7l+D+yqBzrMgAAAAAAssWIuMMB8YEDwBnQDyEBDAAAAADUzRjc4AfPABFdADDv+7/+o7Fe5fg/sqgc6zIAAAAAALLFiLjDAfGB
AAMx0A8x0A8x0A8A3onddBQXOzADAAAAAARZWv03elhaAAABaSLeNgIAIQEMAAAAj5hBnOAXbwAgXQAw7/u//qOxXuX4P7KqJlX4aHBBcBUPjf0eTBuK
KaxF2ACb36kpAAE48C4AAABN2aUjPjANiwIAAAAAAVlaAAAAAAAAAAA=`;
/** Where its second stream begins and ends. */
const SECOND = 196;
const SECOND_END = 288;
const xz = (): Bytes => new Uint8Array(Buffer.from(XZ, 'base64'));

const fileOf = (bytes: Bytes, isLocal = true): PackedFile => ({
  size: bytes.length,
  read: async (offset, length) => {
    if (offset < 0 || length < 0 || offset + length > bytes.length) throw new Error('a read outside of the file');
    return bytes.slice(offset, offset + length);
  },
  isLocal,
});

const rangesOf = (index: PackedIndex | undefined) =>
  index?.units.map(({ start, length, offset, size }) => [start, length, offset, size]);

test('blocks of all streams of an xz file are found', async () => {
  const found = await xzIndex(fileOf(xz()));
  expect(found?.size).toBe(12_000);
  expect(rangesOf(found?.index)).toEqual([
    [12, 52, 0, 2000],
    [64, 52, 2000, 2000],
    [116, 52, 4000, 2000],
    [208, 56, 6000, 6000],
  ]);
});

test('a block becomes the file that xz itself makes of its data', async () => {
  const { index } = (await xzIndex(fileOf(xz())))!;
  const last = index!.units[3]!;
  const { before, after } = index!.around!(last);
  // The second stream has one block.
  const whole = [...before, ...xz().subarray(last.start, last.start + last.length), ...after];
  expect(whole).toEqual([...xz().subarray(SECOND, SECOND_END)]);
});

test('a damaged or truncated xz file has no index, or the same', async () => {
  const good = rangesOf((await xzIndex(fileOf(xz())))?.index);
  const inIndexes = (at: number) => (at >= 168 && at < SECOND) || at >= 264;
  for (let at = 1; at < xz().length; at++) {
    for (const change of [1, 0x80]) {
      const bytes = xz();
      bytes[at]! ^= change;
      const found = rangesOf((await xzIndex(fileOf(bytes)))?.index);
      if (inIndexes(at)) expect(found, `at ${at}`).toBeUndefined();
      else if (found) expect(found).toEqual(good);
    }
    const cut = rangesOf((await xzIndex(fileOf(xz().slice(0, at))))?.index);
    // At the end of the first stream it is a whole file, and so it is without padding.
    if (cut) expect([SECOND, SECOND_END, SECOND_END + 4]).toContain(at);
  }
});

/** A frame of zstd with `blocks` of one repeated byte each, which states its size if `stated`. */
function frame(sizes: number[], stated = true): number[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const size = [total & 255, (total >> 8) & 255, (total >> 16) & 255, total >>> 24];
  const head = stated ? [0xa0, ...size] : [0, 0x50];
  const blocks = sizes.flatMap((size, at) => {
    const header = (size << 3) | 2 | (at === sizes.length - 1 ? 1 : 0);
    return [header & 255, (header >> 8) & 255, header >> 16, 7];
  });
  return [0x28, 0xb5, 0x2f, 0xfd, ...head, ...blocks];
}
const skippable = (first: number, content: number[]) => [first, 0x2a, 0x4d, 0x18, content.length, 0, 0, 0, ...content];
const word = (value: number) => [value & 255, (value >> 8) & 255, (value >> 16) & 255, value >>> 24];
/** The seek table of frames of these lengths and sizes. */
const table = (frames: [number, number][], descriptor = 0) =>
  skippable(0x5e, [
    ...frames.flatMap(([length, size]) => [...word(length), ...word(size), ...(descriptor === 0x80 ? word(0) : [])]),
    ...word(frames.length),
    descriptor,
    ...[0xb1, 0xea, 0x92, 0x8f],
  ]);

const MIB = 1 << 20;
const long = Array.from({ length: 20 }, () => 100_000);

test.each<[string, number[], ReturnType<typeof rangesOf>, boolean?]>([
  [
    'frames',
    [...frame(long), ...frame([9])],
    [
      [0, 89, 0, 2_000_000],
      [89, 13, 2_000_000, 9],
    ],
  ],
  ['small frames, joined', [...frame([5]), ...frame([9]), ...frame(long)], [[0, 115, 0, 2_000_014]]],
  ['skippable frames', [...skippable(0x50, [1, 2]), ...frame(long), ...skippable(0x5f, [])], [[0, 107, 0, 2_000_000]]],
  ['a frame without its size', [...frame(long), ...frame([9], false)], undefined],
  ['a cut frame', [...frame(long), ...frame([9]).slice(0, -1)], undefined],
  ['a cut skippable frame', [...frame(long), ...skippable(0x50, [1, 2]).slice(0, -1)], undefined],
  ['something else', [...frame(long), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], undefined],
  ['frames on a server', [...frame(long), ...frame([9])], undefined, false],
  [
    'a table',
    [
      ...frame(long, false),
      ...frame([9]),
      ...table([
        [86, 2_000_000],
        [13, 9],
      ]),
    ],
    [
      [0, 86, 0, 2_000_000],
      [86, 13, 2_000_000, 9],
    ],
    false,
  ],
  ['a table with checksums', [...frame(long), ...table([[89, 2_000_000]], 0x80)], [[0, 89, 0, 2_000_000]], false],
  ['a table of other frames', [...frame(long), ...table([[88, 2_000_000]])], undefined, false],
  ['a table with reserved bits', [...frame(long), ...table([[89, 2_000_000]], 4)], undefined, false],
  [
    'a table that claims 2^32 frames',
    [...frame(long), ...skippable(0x5e, [...word(0xffff_ffff), 0, 0xb1, 0xea, 0x92, 0x8f])],
    undefined,
    false,
  ],
  ['a frame that is too large', [...frame(long), ...table([[89, 65 * MIB]])], undefined, false],
])('zstd: %s', async (_, bytes, expected, isLocal = true) => {
  expect(rangesOf(await zstdIndex(fileOf(Uint8Array.from(bytes), isLocal)))).toEqual(expected);
});

/** A block of BGZF. The checksum is not read. */
function block(size: number): number[] {
  const deflated = [...deflateRawSync(Buffer.alloc(size))];
  const length = 18 + deflated.length + 8;
  return [
    0x1f,
    0x8b,
    8,
    4,
    0,
    0,
    0,
    0,
    0,
    0xff,
    6,
    0,
    0x42,
    0x43,
    2,
    0,
    (length - 1) & 255,
    (length - 1) >> 8,
    ...deflated,
    0,
    0,
    0,
    0,
    ...word(size),
  ];
}
const blocks = Array.from({ length: 17 }, () => block(65_280)).flat();
const ofBlock = block(65_280).length;

test.each<[string, number[], ReturnType<typeof rangesOf>]>([
  ['blocks', [...blocks, ...block(0)], [[0, 17 * ofBlock + block(0).length, 0, 17 * 65_280]]],
  ['a cut block', blocks.slice(0, -1), undefined],
  ['another member', [...blocks, ...block(3).with(3, 0)], undefined],
  ['another field', [...blocks, ...block(3).with(12, 0x41)], undefined],
  ['a length of nothing', [...blocks, ...block(3).with(16, 1).with(17, 0)], undefined],
])('gzip: %s', async (_, bytes, expected) => {
  expect(rangesOf(await gzipIndex(fileOf(Uint8Array.from(bytes))))).toEqual(expected);
});
