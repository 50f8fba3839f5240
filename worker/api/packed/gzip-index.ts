// The blocks of a BGZF file, which are gzip members that state their length (the SAM/BAM format specification, section 4.1).

import type { Bytes } from '../../public/types.js';
import { AscendingReader, hasMagic, type PackedFile, type Part, Parts, SMALL_UNIT } from './packed-index.js';

export const GZIP_MAGIC = [0x1f, 0x8b];
const DEFLATED = [...GZIP_MAGIC, 8];
/** The start of a member with an extra field. */
const WITH_EXTRA = [0x1f, 0x8b, 8, 4];
/** The subfield `BC`, of two bytes. */
const SUBFIELD = [0x42, 0x43, 2, 0];
/** Length of a header with this subfield only. */
const HEADER = 18;
/** Length of what follows the data of a member: its checksum and size. */
const TRAILER = 8;

/** The fixed part of the header of any member. */
const LEAST_HEADER = 10;
/** Flags that no member has (RFC 1952, section 2.3.1). */
const RESERVED_FLAGS = 0xe0;
/** The extra flags that compressors set, and the operating systems that are known, up to this or unknown. */
const EXTRA_FLAGS = [0, 2, 4];
const LAST_SYSTEM = 13;
const UNKNOWN_SYSTEM = 255;
/** How much of a file is searched at a time, in bytes. */
const SEARCHED = 4 << 20;
/** Length of a group of members, in bytes. */
const GROUP = 256 << 10;

/** Finds the blocks of `file`, which must be local. Resolves to `undefined` if it is not BGZF throughout. */
export async function bgzfParts(file: PackedFile): Promise<Part[] | undefined> {
  const reader = new AscendingReader(file);
  const parts = new Parts();
  for (let at = 0; at < file.size; ) {
    const block = await blockAt(reader, at);
    if (!block || !parts.add(block)) return undefined;
    at += block.length;
  }
  return parts.all;
}

/** Finds what seem to be groups of members of `file`, by their headers: compressed data may look like one. */
export async function memberParts(file: PackedFile): Promise<Part[]> {
  const parts: Part[] = [];
  let [start, expected] = [0, 0];
  const end = (at: number) => {
    parts.push({ start, length: at - start, size: undefined });
    [start, expected] = [at, 0];
  };
  for (let at = 0; at < file.size; at += SEARCHED) {
    // The size of a member is before the next one.
    const from = Math.max(at - 4, 0);
    const bytes = await file.read(from, Math.min(at + SEARCHED + LEAST_HEADER, file.size) - from);
    for (let found = headerIn(bytes, 4); found >= 0; found = headerIn(bytes, found + 1)) {
      const position = from + found;
      if (position >= at + SEARCHED) break;
      expected += sizeBefore(bytes, found);
      if (position - start >= GROUP || expected >= SMALL_UNIT) end(position);
    }
  }
  end(file.size);
  return parts;
}

/** The first position from `start` where `bytes` have the header of a member, or -1. */
function headerIn(bytes: Bytes, start: number): number {
  for (let at = bytes.indexOf(GZIP_MAGIC[0]!, start); at >= 0; at = bytes.indexOf(GZIP_MAGIC[0]!, at + 1)) {
    if (at + LEAST_HEADER > bytes.length) return -1;
    const system = bytes[at + 9]!;
    const isHeader =
      hasMagic(bytes, DEFLATED, at) &&
      (bytes[at + 3]! & RESERVED_FLAGS) === 0 &&
      EXTRA_FLAGS.includes(bytes[at + 8]!) &&
      (system <= LAST_SYSTEM || system === UNKNOWN_SYSTEM);
    if (isHeader) return at;
  }
  return -1;
}

/** The size that a member states which ends at `at`. */
const sizeBefore = (bytes: Bytes, at: number): number =>
  new DataView(bytes.buffer, bytes.byteOffset).getUint32(at - 4, true);

/** The block at `start`. */
async function blockAt(reader: AscendingReader, start: number): Promise<Part | undefined> {
  const header = await reader.at(start, HEADER);
  const bytes = new Uint8Array(header.buffer, header.byteOffset, header.byteLength);
  if (bytes.length < HEADER || !hasMagic(bytes, WITH_EXTRA) || !hasMagic(bytes, SUBFIELD, 12)) return undefined;
  const length = header.getUint16(16, true) + 1;
  if (length < HEADER + TRAILER) return undefined;
  const trailer = await reader.at(start + length - 4, 4);
  return trailer.byteLength === 4 ? { start, length, size: trailer.getUint32(0, true) } : undefined;
}
