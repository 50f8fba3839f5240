// Finds how the content of a compressed file can be read at any position.

import { toDecantError } from '../../errors/errors.js';
import { bgzfParts, GZIP_MAGIC, memberParts } from './gzip-index.js';
import { partOf } from './in-place-source.js';
import { hasMagic, LARGEST_UNIT, type PackedFile, type PackedIndex, type Part, Units } from './packed-index.js';
import { release } from './unit-cache.js';
import type { DecodedUnit, UnitDecoder } from './unit-decoder.js';
import { XZ_MAGIC, xzIndex } from './xz-index.js';
import { isZstd, zstdParts } from './zstd-index.js';

const BZIP2_MAGIC = [0x42, 0x5a, 0x68];
/** Longer than all magics. */
export const HEAD = 8;
/** The largest files that are decoded as a whole, in bytes: bzip2 is slow. */
const LARGEST_WHOLE = { gzip: LARGEST_UNIT, xz: LARGEST_UNIT, zstd: LARGEST_UNIT, bzip2: 16 << 20 };

/** Parts of unknown size are decoded to know it: at most so many, with so many bytes in the file. */
const MOST_DECODED = 4096;
const LARGEST_DECODED = 256 << 20;

interface Content {
  /** Undefined if the content cannot be read at any position. */
  index?: PackedIndex;
  /** The first unit, if it was decoded to find the index. */
  first?: DecodedUnit;
  /** The size of the content in bytes, if the file states it. */
  size?: number;
}

/**
 * Finds the content of `file`. Resolves to `undefined` if the file is not compressed. Content of at most `LARGEST_UNIT` bytes in a
 * local file is one unit, whatever the container. `measured` gets the finished share while parts are decoded to know their sizes.
 * Fails as reading does, and with `corrupt` if a file that is decoded as one unit is damaged or truncated.
 */
export async function findContent(
  file: PackedFile,
  decoder: UnitDecoder,
  measured: (share: number) => void = () => {},
): Promise<Content | undefined> {
  const container = containerOf(await file.read(0, Math.min(HEAD, file.size)));
  if (!container) return undefined;
  const found = await indexOf(container, file, decoder, measured);
  if (found?.index) return found;
  const expected = found?.size ?? (container === 'gzip' ? await sizeOfLastMember(file) : 0);
  const whole = expected <= LARGEST_UNIT ? await decodedWhole(container, file, expected, decoder) : undefined;
  return whole ?? found ?? {};
}

/** The size of the data of the last gzip member, modulo 2^32: in most files the only one (RFC 1952, section 2.3.1). */
async function sizeOfLastMember(file: PackedFile): Promise<number> {
  const length = Math.min(4, file.size);
  const bytes = await file.read(file.size - length, length);
  return bytes.reduceRight((size, byte) => size * 256 + byte, 0);
}

/** The container of a file that begins with `head`, at least `HEAD` bytes unless the file is shorter. */
export function containerOf(head: Uint8Array): PackedIndex['container'] | undefined {
  if (hasMagic(head, GZIP_MAGIC)) return 'gzip';
  if (hasMagic(head, XZ_MAGIC)) return 'xz';
  if (isZstd(head)) return 'zstd';
  return hasMagic(head, BZIP2_MAGIC) ? 'bzip2' : undefined;
}

async function indexOf(
  container: PackedIndex['container'],
  file: PackedFile,
  decoder: UnitDecoder,
  measured: (share: number) => void,
): Promise<Content | undefined> {
  if (container === 'xz') return xzIndex(file);
  const parts = await partsOf(container, file);
  const units = parts && (await unitsOf(container, file, parts, decoder, measured));
  return units && { index: { container, units: units.all } };
}

async function partsOf(container: PackedIndex['container'], file: PackedFile): Promise<Part[] | undefined> {
  if (container === 'zstd') return zstdParts(file);
  if (container !== 'gzip' || !file.isLocal) return undefined;
  return (await bgzfParts(file)) ?? (file.size <= LARGEST_DECODED ? memberParts(file) : undefined);
}

/**
 * The units of `parts`. Decodes those of unknown size once, if there are several, and they are small together. Resolves to
 * `undefined` if that fails, or one is too large.
 */
async function unitsOf(
  container: PackedIndex['container'],
  file: PackedFile,
  parts: Part[],
  decoder: UnitDecoder,
  measured: (share: number) => void,
): Promise<Units | undefined> {
  const unknown = parts.filter(({ size }) => size === undefined);
  const length = unknown.reduce((sum, part) => sum + part.length, 0);
  if (unknown.length === 1 || unknown.length > MOST_DECODED || length > LARGEST_DECODED) return undefined;
  if (unknown.some((part) => part.length > LARGEST_UNIT)) return undefined;
  let isGood = true;
  let done = 0;
  const waiting = unknown.values();
  const decodeSome = async () => {
    for (const part of waiting) {
      const unit = { ...part, offset: 0, size: 0 };
      const pieces = await partOf(file, unit);
      // If the file is damaged, unpacking it reports where.
      const decoded = isGood ? await decoder.decode(container, pieces).catch(() => undefined) : undefined;
      if (!decoded) {
        isGood = false;
        return;
      }
      release(decoded.bytes);
      part.size = decoded.size;
      done += part.length;
      measured(done / length);
    }
  };
  await Promise.all([decodeSome(), decodeSome()]);
  const units = new Units();
  const isWhole = isGood && parts.every(({ start, length, size }) => units.add(start, length, size!));
  // Nothing would decode parts that all claim to be empty, and so notice data in them.
  return isWhole && units.size > 0 ? units : undefined;
}

/**
 * Decodes `file`, whose content probably has `expected` bytes, as one unit. Resolves to `undefined` if its content is too large. Fails
 * as reading does, and with `corrupt` if the file is damaged or truncated.
 */
async function decodedWhole(
  container: PackedIndex['container'],
  file: PackedFile,
  expected: number,
  decoder: UnitDecoder,
): Promise<Content | undefined> {
  if (!file.isLocal || file.size > LARGEST_WHOLE[container]) return undefined;
  const unit = { start: 0, length: file.size, offset: 0, size: expected };
  const first = await decoder.decode(container, await partOf(file, unit)).catch((thrown) => {
    const error = toDecantError(thrown);
    if (error.kind === 'corrupt') throw error;
    return undefined;
  });
  if (!first || first.size > LARGEST_UNIT) return undefined;
  const { size } = first;
  return { index: { container, units: [{ ...unit, size }] }, first };
}
