import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { PackedFile } from './packed-index.js';
import { statedSize } from './stated-size.js';

const MIB = 1 << 20;

const fileOf = (bytes: Buffer, isLocal: boolean): PackedFile => ({
  size: bytes.length,
  read: async (offset, length) => new Uint8Array(bytes.subarray(offset, offset + length)),
  isLocal,
});

/** A frame of zstd with one block of a repeated byte, which states its size if `stated`. */
function frame(size: number, stated = true): Buffer {
  const block = Buffer.alloc(4, 7);
  block.writeUIntLE((size << 3) | 3, 0, 3);
  const head = Buffer.from(stated ? [0xa0, 0, 0, 0, 0] : [0, 0x50]);
  if (stated) head.writeUInt32LE(size, 1);
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), head, block]);
}

/** By `xz`: blocks of 2,000, 2,000, 2,000 and 6,000 bytes, in two streams. */
const XZ = Buffer.from(
  `/Td6WFoAAATm1rRGA8AZ0A8hAQwAAAAA1M0Y3OAHzwARXQAw7/u//qOxXuX4P7KoHOsyAAAAAACyxYi4wwHxgQPAGdAPIQEMAAAAANTNGNzg
B88AEV0AMO/7v/6jsV7l+D+yqBzrMgAAAAAAssWIuMMB8YEDwBnQDyEBDAAAAADUzRjc4AfPABFdADDv+7/+o7Fe5fg/sqgc6zIAAAAAALLFiLjDAfGB
AAMx0A8x0A8x0A8A3onddBQXOzADAAAAAARZWv03elhaAAABaSLeNgIAIQEMAAAAj5hBnOAXbwAgXQAw7/u//qOxXuX4P7KqJlX4aHBBcBUPjf0eTBuK
KaxF2ACb36kpAAE48C4AAABN2aUjPjANiwIAAAAAAVlaAAAAAAAAAAA=`,
  'base64',
);

/** A block of BGZF. */
function block(data: Buffer): Buffer {
  const deflated = gzipSync(data).subarray(10);
  const head = Buffer.from([0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 0x42, 0x43, 2, 0, 0, 0]);
  head.writeUInt16LE(head.length + deflated.length - 1, 16);
  return Buffer.concat([head, deflated]);
}

const large = frame(2 * MIB - 1);
/** More than is decoded as one unit. */
const many = Buffer.concat(Array.from({ length: 40 }, () => large));

test.each<[string, Buffer, number | undefined, number | undefined]>([
  ['xz', XZ, 12_000, 12_000],
  ['xz, cut', XZ.subarray(0, -12), undefined, undefined],
  ['one frame of zstd', frame(9), 9, undefined],
  ['frames of zstd', many, 40 * (2 * MIB - 1), undefined],
  ['a frame of zstd without its size', Buffer.concat([large, frame(9, false)]), undefined, undefined],
  ['frames of zstd, cut', many.subarray(0, -1), undefined, undefined],
  [
    'BGZF',
    Buffer.concat([block(Buffer.alloc(60_000)), block(Buffer.alloc(7)), block(Buffer.alloc(0))]),
    60_007,
    undefined,
  ],
  ['gzip, whose size is modulo 2^32', gzipSync('abc'), undefined, undefined],
  ['bzip2', Buffer.from('BZh91AY&SY'), undefined, undefined],
  ['no container', Buffer.alloc(512), undefined, undefined],
  ['a short file', Buffer.from([0x28]), undefined, undefined],
])('the size that a file states, here and on a server: %s', async (_, file, here, onServer) => {
  expect(await statedSize(fileOf(file, true))).toBe(here);
  expect(await statedSize(fileOf(file, false))).toBe(onServer);
});
