// The blocks of a BGZF file, which are gzip members that state their length (the SAM/BAM format specification, section 4.1).

import { AscendingReader, hasMagic, type PackedFile, type PackedIndex, Units } from './packed-index.js';

export const GZIP_MAGIC = [0x1f, 0x8b];
/** The start of a member with an extra field. */
const WITH_EXTRA = [0x1f, 0x8b, 8, 4];
/** The subfield `BC`, of two bytes. */
const SUBFIELD = [0x42, 0x43, 2, 0];
/** Length of a header with this subfield only. */
const HEADER = 18;
/** Length of what follows the data of a member: its checksum and size. */
const TRAILER = 8;

/** Finds the blocks of `file`, which must be local. Resolves to `undefined` if it is not BGZF throughout. */
export async function gzipIndex(file: PackedFile): Promise<PackedIndex | undefined> {
  if (!file.isLocal) return undefined;
  const reader = new AscendingReader(file);
  const units = new Units();
  for (let at = 0; at < file.size; ) {
    const block = await blockAt(reader, at);
    if (!block || !units.addJoined(at, block.length, block.size)) return undefined;
    at += block.length;
  }
  return { container: 'gzip', units: units.all };
}

/** The length of the block at `start`, and the size of its data. */
async function blockAt(reader: AscendingReader, start: number): Promise<{ length: number; size: number } | undefined> {
  const header = await reader.at(start, HEADER);
  const bytes = new Uint8Array(header.buffer, header.byteOffset, header.byteLength);
  if (bytes.length < HEADER || !hasMagic(bytes, WITH_EXTRA) || !hasMagic(bytes, SUBFIELD, 12)) return undefined;
  const length = header.getUint16(16, true) + 1;
  if (length < HEADER + TRAILER) return undefined;
  const trailer = await reader.at(start + length - 4, 4);
  return trailer.byteLength === 4 ? { length, size: trailer.getUint32(0, true) } : undefined;
}
