// The frames of a zstd file: from its seek table (the seekable format, 0.1.0), or found by their headers (RFC 8878, section 3.1).

import { AscendingReader, hasMagic, LARGEST_UNIT, type PackedFile, type Part, Parts } from './packed-index.js';

const FRAME_MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
/** Bytes 1 to 3 of skippable frames; the first is from 0x50 to 0x5f. */
const SKIPPABLE = [0x2a, 0x4d, 0x18];
const SEEK_TABLE = 0x5e;
const SEEKABLE_MAGIC = [0xb1, 0xea, 0x92, 0x8f];
/** Length of the footer of a seek table. */
const FOOTER = 9;
/** The descriptor of a seek table: entries have checksums. Other bits are reserved, but for the lowest two. */
const WITH_CHECKSUMS = 0x80;
const RESERVED = 0x7c;
/** The largest seek table that is read, in bytes. */
const LARGEST_TABLE = 1 << 20;
/** The longest header of a frame. */
const LONGEST_HEADER = 18;
const BLOCK_HEADER = 3;

export const isZstd = (head: Uint8Array): boolean =>
  hasMagic(head, FRAME_MAGIC) || (isSkippable(head[0]!) && hasMagic(head, SKIPPABLE, 1));

const isSkippable = (first: number): boolean => first >> 4 === 5;

/** Finds the frames of `file`. Resolves to `undefined` if one of them is too large or damaged. */
export async function zstdParts(file: PackedFile): Promise<Part[] | undefined> {
  return (await partsOfTable(file)) ?? (file.isLocal ? partsOfFrames(file) : undefined);
}

/** The size of the content of `file` in bytes, if all frames are found and state theirs. */
export async function zstdSize(file: PackedFile): Promise<number | undefined> {
  const parts = await partsOfTable(file);
  if (parts) return parts.reduce((size, part) => size + part.size!, 0);
  if (!file.isLocal) return undefined;
  const reader = new AscendingReader(file);
  let size = 0;
  for (let at = 0; at < file.size; ) {
    const frame = await frameAt(file, reader, at);
    if (frame?.size === undefined) return undefined;
    size += frame.size;
    at += frame.length;
  }
  return size;
}

async function partsOfTable(file: PackedFile): Promise<Part[] | undefined> {
  if (file.size < FOOTER) return undefined;
  const footer = await file.read(file.size - FOOTER, FOOTER);
  const descriptor = footer[4]!;
  if (!hasMagic(footer, SEEKABLE_MAGIC, 5) || (descriptor & RESERVED) !== 0) return undefined;
  const count = new DataView(footer.buffer, footer.byteOffset).getUint32(0, true);
  const entry = descriptor & WITH_CHECKSUMS ? 12 : 8;
  const length = count * entry + FOOTER;
  const start = file.size - length - 8;
  if (length > LARGEST_TABLE || start < 0) return undefined;
  const table = await file.read(start, length + 8);
  const view = new DataView(table.buffer, table.byteOffset);
  if (table[0] !== SEEK_TABLE || !hasMagic(table, SKIPPABLE, 1) || view.getUint32(4, true) !== length) return undefined;
  const parts = new Parts();
  let at = 0;
  for (let number = 0; number < count; number++) {
    const [compressed, size] = [view.getUint32(8 + number * entry, true), view.getUint32(12 + number * entry, true)];
    if (!parts.add({ start: at, length: compressed, size })) return undefined;
    at += compressed;
  }
  return at === start ? parts.all : undefined;
}

async function partsOfFrames(file: PackedFile): Promise<Part[] | undefined> {
  const reader = new AscendingReader(file);
  const parts = new Parts();
  for (let at = 0; at < file.size; ) {
    const frame = await frameAt(file, reader, at, LARGEST_UNIT);
    if (!frame || !parts.add(frame)) return undefined;
    at += frame.length;
  }
  return parts.all;
}

/** The frame at `start`; `undefined` if it is damaged, or states more than `most` bytes. */
async function frameAt(
  file: PackedFile,
  reader: AscendingReader,
  start: number,
  most = Number.MAX_SAFE_INTEGER,
): Promise<Part | undefined> {
  const header = await reader.at(start, LONGEST_HEADER);
  if (header.byteLength < 8) return undefined;
  if (hasMagic(bytesOf(header), SKIPPABLE, 1) && isSkippable(header.getUint8(0))) {
    const length = 8 + header.getUint32(4, true);
    return start + length <= file.size ? { start, length, size: 0 } : undefined;
  }
  const known = hasMagic(bytesOf(header), FRAME_MAGIC) ? headerOf(header) : undefined;
  if (!known || (known.size ?? 0) > most) return undefined;
  let at = start + known.length;
  for (let isLast = false; !isLast; ) {
    const block = await reader.at(at, BLOCK_HEADER);
    if (block.byteLength < BLOCK_HEADER) return undefined;
    const bits = block.getUint16(0, true) | (block.getUint8(2) << 16);
    isLast = (bits & 1) === 1;
    const isRepeated = ((bits >> 1) & 3) === 1;
    at += BLOCK_HEADER + (isRepeated ? 1 : bits >> 3);
  }
  const length = at + (known.hasChecksum ? 4 : 0) - start;
  return start + length <= file.size ? { start, length, size: known.size } : undefined;
}

const bytesOf = (view: DataView): Uint8Array => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

/** Parses the header of a frame (section 3.1.1.1). */
function headerOf(view: DataView): { length: number; size: number | undefined; hasChecksum: boolean } | undefined {
  const descriptor = view.getUint8(4);
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const sizeFlag = descriptor >> 6;
  const at = 5 + (isSingleSegment ? 0 : 1) + [0, 1, 2, 4][descriptor & 3]!;
  const sizeLength = sizeFlag === 0 ? (isSingleSegment ? 1 : 0) : 1 << sizeFlag;
  const length = at + sizeLength;
  if (view.byteLength < length) return undefined;
  const hasChecksum = (descriptor & 4) !== 0;
  const sizes = {
    0: () => undefined,
    1: () => view.getUint8(at),
    2: () => view.getUint16(at, true) + 256,
    4: () => view.getUint32(at, true),
    8: () => Number(view.getBigUint64(at, true)),
  };
  return { length, size: sizes[sizeLength as keyof typeof sizes](), hasChecksum };
}
