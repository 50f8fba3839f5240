// The index at the end of each stream of an xz file (the .xz file format, sections 2 and 4).

import { crc32 } from '../../contents/bytes.js';
import type { Bytes } from '../../public/types.js';
import { hasMagic, type PackedFile, type PackedIndex, type Unit, Units } from './packed-index.js';

export const XZ_MAGIC = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0];
const FOOTER_MAGIC = [0x59, 0x5a];
/** Length of the header of a stream, and of its footer. */
const HEADER = 12;
/** All lengths are multiples of this, by padding. */
const ALIGNED = 4;
/** The largest index of a stream that is read: it lists some 100,000 blocks. */
const LARGEST_INDEX = 1 << 20;
/** The most padding before a footer that is passed over. */
const MOST_PADDING = 64 << 10;
/** The most streams. */
const MOST_STREAMS = 4096;

/** Two sizes of a block: of the block without padding, and of its data. */
type BlockSizes = [unpadded: number, data: number];

interface Stream {
  start: number;
  flags: Bytes;
  blocks: BlockSizes[];
}

const padded = (length: number): number => Math.ceil(length / ALIGNED) * ALIGNED;

/**
 * Reads the index of `file`. Resolves to the size of the content, and to its units if no block is too large or empty; to `undefined` if the
 * index is damaged or too large.
 */
export async function xzIndex(file: PackedFile): Promise<{ size: number; index?: PackedIndex } | undefined> {
  const streams: Stream[] = [];
  for (let end = file.size; end > 0; ) {
    const stream = streams.length < MOST_STREAMS ? await lastStream(file, end) : undefined;
    if (!stream) return undefined;
    streams.unshift(stream);
    end = stream.start;
  }
  const size = streams.flatMap(({ blocks }) => blocks).reduce((size, [_, data]) => size + data, 0);
  const units = new Units();
  /** By their starts. */
  const blocksAt = new Map<number, { flags: Bytes; unpadded: number }>();
  for (const { start, flags, blocks } of streams) {
    let at = start + HEADER;
    for (const [unpadded, data] of blocks) {
      // Nothing would decode a block whose data is empty according to the index, and so notice other data in it.
      if (data === 0) return { size };
      if (!units.add(at, padded(unpadded), data)) return { size };
      blocksAt.set(at, { flags, unpadded });
      at += padded(unpadded);
    }
  }
  const around = ({ start, size }: Unit) => {
    const { flags, unpadded } = blocksAt.get(start)!;
    return { before: headerOf(flags), after: endOf(flags, unpadded, size) };
  };
  return { size, index: { container: 'xz', units: units.all, around } };
}

/** Reads the last stream before `end`. */
async function lastStream(file: PackedFile, end: number): Promise<Stream | undefined> {
  const footerEnd = await withoutPadding(file, end);
  if (footerEnd === undefined || footerEnd < 2 * HEADER) return undefined;
  const footer = await file.read(footerEnd - HEADER, HEADER);
  const view = new DataView(footer.buffer, footer.byteOffset);
  if (!hasMagic(footer, FOOTER_MAGIC, 10) || view.getUint32(0, true) !== crc32(footer.subarray(4, 10)))
    return undefined;
  const length = (view.getUint32(4, true) + 1) * ALIGNED;
  const indexStart = footerEnd - HEADER - length;
  if (length > LARGEST_INDEX || indexStart < HEADER) return undefined;
  const blocks = blocksOf(await file.read(indexStart, length));
  if (!blocks) return undefined;
  const start = blocks.reduce((start, [unpadded]) => start - padded(unpadded), indexStart - HEADER);
  if (start < 0) return undefined;
  const flags = footer.slice(8, 10);
  const header = await file.read(start, HEADER);
  return hasMagic(header, [...headerOf(flags)]) ? { start, flags, blocks } : undefined;
}

/** The end of the last stream before `end`: zeros may follow it. */
async function withoutPadding(file: PackedFile, end: number): Promise<number | undefined> {
  if (end % ALIGNED !== 0) return undefined;
  const length = Math.min(end, MOST_PADDING);
  const bytes = await file.read(end - length, length);
  const at = bytes.findLastIndex((byte) => byte !== 0);
  const padding = length - padded(at + 1);
  return at < 0 ? undefined : end - padding;
}

/** The blocks that an index lists. */
function blocksOf(index: Bytes): BlockSizes[] | undefined {
  const checked = index.length - 4;
  const view = new DataView(index.buffer, index.byteOffset);
  if (index[0] !== 0 || view.getUint32(checked, true) !== crc32(index.subarray(0, checked))) return undefined;
  let at = 1;
  /** A number of seven bits to a byte, the lowest first (section 1.2). */
  const next = (): number => {
    let value = 0;
    for (let scale = 1; at < checked; scale *= 128) {
      const byte = index[at++]!;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    return Number.NaN;
  };
  const count = next();
  const blocks: BlockSizes[] = [];
  // A record has two bytes at least.
  while (blocks.length < count && at < checked) blocks.push([next(), next()]);
  const isWhole = blocks.length === count && blocks.flat().every(Number.isSafeInteger);
  return isWhole && padded(at) === checked ? blocks : undefined;
}

/** The header of a stream. */
function headerOf(flags: Bytes): Bytes {
  const header = Uint8Array.of(...XZ_MAGIC, ...flags, 0, 0, 0, 0);
  new DataView(header.buffer).setUint32(8, crc32(flags), true);
  return header;
}

/** What follows the only block of a stream: the index and the footer. */
function endOf(flags: Bytes, unpadded: number, data: number): Bytes {
  const records = [0, 1, ...encoded(unpadded), ...encoded(data)];
  const length = padded(records.length);
  const end = new Uint8Array(length + 4 + HEADER);
  const view = new DataView(end.buffer);
  end.set(records);
  view.setUint32(length, crc32(end.subarray(0, length)), true);
  const footer = length + 4;
  view.setUint32(footer + 4, footer / ALIGNED - 1, true);
  end.set(flags, footer + 8);
  end.set(FOOTER_MAGIC, footer + 10);
  view.setUint32(footer, crc32(end.subarray(footer + 4, footer + 10)), true);
  return end;
}

/** `value` as a number of seven bits to a byte. */
function encoded(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) + 128);
  }
}
