import { deflateRawSync, gunzipSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { DecantError, toDecantError } from '../../errors/errors.js';
import type { Bytes } from '../../public/types.js';
import { findContent } from './find-content.js';
import { bgzfParts } from './gzip-index.js';
import { InPlaceSource } from './in-place-source.js';
import type { PackedFile, PackedIndex, Part } from './packed-index.js';
import type { UnitDecoder } from './unit-decoder.js';
import { xzIndex } from './xz-index.js';
import { zstdParts } from './zstd-index.js';

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

const partRanges = (parts: Part[] | undefined) => parts?.map(({ start, length, size }) => [start, length, size]);

test.each<[string, number[], ReturnType<typeof partRanges>, boolean?]>([
  [
    'frames',
    [...frame(long), ...frame([9])],
    [
      [0, 89, 2_000_000],
      [89, 13, 9],
    ],
  ],
  ['small frames, joined', [...frame([5]), ...frame([9]), ...frame(long)], [[0, 115, 2_000_014]]],
  ['skippable frames', [...skippable(0x50, [1, 2]), ...frame(long), ...skippable(0x5f, [])], [[0, 107, 2_000_000]]],
  [
    'a frame without its size',
    [...skippable(0x50, [1]), ...frame([9], false), ...skippable(0x50, [1]), ...frame(long), ...frame([7])],
    [
      [0, 28, undefined],
      [28, 89, 2_000_000],
      [117, 13, 7],
    ],
  ],
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
      [0, 86, 2_000_000],
      [86, 13, 9],
    ],
    false,
  ],
  ['a table with checksums', [...frame(long), ...table([[89, 2_000_000]], 0x80)], [[0, 89, 2_000_000]], false],
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
  expect(partRanges(await zstdParts(fileOf(Uint8Array.from(bytes), isLocal)))).toEqual(expected);
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
/** A block of BGZF with `text`. */
function gzipBlock(text: string): number[] {
  const [header, ...rest] = [block(0).slice(0, 18), ...gzipSync(text).subarray(10)];
  const length = 18 + rest.length;
  return [...header.with(16, (length - 1) & 255).with(17, (length - 1) >> 8), ...rest];
}
const blocks = Array.from({ length: 17 }, () => block(65_280)).flat();
const ofBlock = block(65_280).length;

test.each<[string, number[], ReturnType<typeof partRanges>]>([
  ['blocks', [...blocks, ...block(0)], [[0, 17 * ofBlock + block(0).length, 17 * 65_280]]],
  ['a cut block', blocks.slice(0, -1), undefined],
  ['another member', [...blocks, ...block(3).with(3, 0)], undefined],
  ['another field', [...blocks, ...block(3).with(12, 0x41)], undefined],
  ['a length of nothing', [...blocks, ...block(3).with(16, 1).with(17, 0)], undefined],
])('gzip: %s', async (_, bytes, expected) => {
  expect(partRanges(await bgzfParts(fileOf(Uint8Array.from(bytes))))).toEqual(expected);
});

/** Decodes as workers do: all members of gzip, and frames of repeated bytes that do not state their size. */
function decoderOf(most = 64 * MIB) {
  const decoded: number[] = [];
  const decode = async (container: string, pieces: Uint8Array[]) => {
    const file = Buffer.concat(pieces).subarray(8);
    const size = container === 'gzip' ? gunzipSync(file).length : sizeOfFrames(file);
    decoded.push(size);
    if (size > most) throw new Error('too large');
    return { size, bytes: new Uint8Array(size) };
  };
  return { decoder: { decode, workers: 2 } as unknown as UnitDecoder, decoded };
}

function sizeOfFrames(file: Buffer): number {
  let size = 0;
  for (let at = 0; at < file.length; ) {
    at += 6;
    for (let isLast = false; !isLast; at += 4) {
      const bits = file.readUIntLE(at, 3);
      isLast = (bits & 1) === 1;
      size += bits >> 3;
    }
  }
  return size;
}

const noise = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (Math.imul(at + 1, 0x9e37_79b1) >>> 13) & 255));
const member = gzipSync(noise, { level: 0 });
/** A member whose data, which is stored, has members in it. */
const around = gzipSync(Buffer.concat([member, member, member]), { level: 0 });
const [large, small] = [frame(long, false), frame([9], false)];
const ofMember = member.length;

test.each<[string, Buffer | number[], ReturnType<typeof rangesOf>, number?]>([
  [
    'members',
    Buffer.concat([member, member, member]),
    [
      [0, ofMember, 0, 300_000],
      [ofMember, ofMember, 300_000, 300_000],
      [2 * ofMember, ofMember, 600_000, 300_000],
    ],
  ],
  [
    'small members, together',
    Buffer.concat([gzipSync('a'), gzipSync('b'), member, gzipSync('c')]),
    [
      [0, 42 + ofMember, 0, 300_002],
      [42 + ofMember, 21, 300_002, 1],
    ],
  ],
  ['members in a stored one', around, [[0, around.length, 0, 3 * ofMember]]],
  [
    'damaged members',
    Buffer.concat([member, Buffer.from(member).fill(0, ofMember - 8, ofMember - 4), member]),
    undefined,
  ],
  [
    'frames',
    [...large, ...small],
    [
      [0, 86, 0, 2_000_000],
      [86, 10, 2_000_000, 9],
    ],
  ],
  ['frames that are too large', [...large, ...small], undefined, 1000],
])('parts of unknown size are decoded once: %s', async (_, bytes, expected, most) => {
  const { decoder } = decoderOf(most);
  const shares: number[] = [];
  const found = await findContent(fileOf(Uint8Array.from(bytes)), decoder, (share) => shares.push(share));
  expect(rangesOf(found?.index)).toEqual(expected);
  // A single part is decoded as the whole file.
  if (expected && expected.length > 1) expect([shares.length, shares.at(-1)]).toEqual([expected.length, 1]);
});

test('parts of unknown size on a server are not decoded', async () => {
  const { decoder, decoded } = decoderOf();
  const found = await findContent(fileOf(Uint8Array.from([...large, ...small]), false), decoder);
  expect([found, decoded]).toEqual([{}, []]);
});

/** Decodes a file of frames as `frame` makes them, and skippable ones, or of gzip members. Throws if it is damaged or truncated. */
function decodedStrictly(container: string, file: Buffer): Buffer {
  if (container === 'gzip') return strictMembers(file);
  const data: Buffer[] = [];
  for (let at = 0; at < file.length; ) {
    const magic = file.readUInt32LE(at);
    if (magic >>> 4 === 0x0184_d2a5) {
      at += 8 + file.readUInt32LE(at + 4);
      continue;
    }
    const descriptor = file.readUInt8(at + 4);
    if (magic !== 0xfd2f_b528 || ![0, 0xa0].includes(descriptor)) throw new Error('not a frame');
    const stated = descriptor === 0 ? undefined : file.readUInt32LE(at + 5);
    at += descriptor === 0 ? 6 : 9;
    let size = 0;
    for (let isLast = false; !isLast; at += 4) {
      const bits = file.readUIntLE(at, 3);
      isLast = (bits & 1) === 1;
      if (((bits >> 1) & 3) !== 1) throw new Error('not a block of one byte');
      size += bits >> 3;
      data.push(Buffer.alloc(bits >> 3, file.readUInt8(at + 3)));
    }
    if (stated !== undefined && stated !== size) throw new Error('another size');
  }
  return Buffer.concat(data);
}

/** Node ignores bytes after the last member. */
function strictMembers(file: Buffer): Buffer {
  const data = gunzipSync(file);
  const isMembersOnly = [1, 2, 4, 7].every((cut) => {
    try {
      gunzipSync(file.subarray(0, -cut));
      return false;
    } catch {
      return true;
    }
  });
  if (!isMembersOnly) throw new Error('something else follows');
  return data;
}

const strictDecoder = {
  workers: 2,
  decode: async (container: string, pieces: Uint8Array[]) => {
    try {
      const bytes = new Uint8Array(decodedStrictly(container, Buffer.concat(pieces).subarray(8)));
      return { size: bytes.length, bytes };
    } catch (cause) {
      throw new DecantError('corrupt', 'The image is corrupt', { code: 'truncated', cause });
    }
  },
} as unknown as UnitDecoder;

/** The content of `file` as reads find it, or the code of the error. */
async function contentOf(file: Buffer): Promise<Buffer | string> {
  const copy = new Uint8Array(file);
  try {
    const found = await findContent(fileOf(copy), strictDecoder);
    if (!found?.index) return 'needs-spool';
    const source = new InPlaceSource(fileOf(copy), found.index, strictDecoder, found.first);
    return Buffer.from(await source.read(0, source.size, { signal: new AbortController().signal }));
  } catch (thrown) {
    return toDecantError(thrown).code;
  }
}

/** Two units: the first one is not joined with the next one. */
const ofSizes = [...frame([1_100_000]), ...frame([9])];
const withTable = [
  ...ofSizes,
  ...table([
    [13, 1_100_000],
    [13, 9],
  ]),
];
const shortMembers = [gzipSync('abc'), gzipSync('d'.repeat(50)), gzipSync('')];

test.each<[string, number[]]>([
  ['frames', ofSizes],
  ['frames of unknown size', [...frame([1_100_000], false), ...small]],
  ['a skippable frame at the end', [...ofSizes, ...skippable(0x50, [1, 2, 3])]],
  ['a seek table', withTable],
  ['blocks of BGZF', [...gzipBlock('a'.repeat(300)), ...gzipBlock('b'.repeat(20)), ...gzipBlock('')]],
  ['members', [...Buffer.concat(shortMembers)]],
])('a file that is cut or changed gives its own bytes, or an error that is clear: %s', async (_, bytes) => {
  const file = Buffer.from(bytes);
  const container = file[0] === 0x1f ? 'gzip' : 'zstd';
  const whole = decodedStrictly(container, file);
  expect(await contentOf(file)).toEqual(whole);
  const check = async (what: string, changed: Buffer) => {
    const found = await contentOf(changed);
    if (typeof found === 'string') return expect(['truncated', 'corrupt', 'needs-spool'], what).toContain(found);
    expect(found.equals(decodedStrictly(container, changed)), what).toBe(true);
  };
  // The first bytes make it the container.
  for (let at = 8; at < file.length; at++) {
    await check(`cut at ${at}`, file.subarray(0, at));
    for (const change of [1, 0x90]) {
      const changed = Buffer.from(file);
      changed[at]! ^= change;
      await check(`${change} at ${at}`, changed);
    }
  }
});
