// The index of a compressed file: it lists the units, which decode independently.

import type { Bytes } from '../../public/types.js';

/** A part of a compressed file that decodes independently of the others. All numbers are in bytes. */
export interface Unit {
  /** Where it begins in the file, and its length there. */
  start: number;
  length: number;
  /** Where its data begins in the content, and the size of its data. */
  offset: number;
  size: number;
}

/** Bytes of a compressed file that decode independently. The size of their data may be unknown. All numbers are in bytes. */
export interface Part {
  start: number;
  length: number;
  size: number | undefined;
}

/** The units of a compressed file, and how to make a complete file of each. */
export interface PackedIndex {
  /** The name of the container. */
  container: 'gzip' | 'xz' | 'zstd' | 'bzip2';
  /** Without gaps, in their order. */
  units: Unit[];
  /** The bytes to put before and after those of `unit` to make a complete file; missing if there are none. */
  around?: (unit: Unit) => { before: Bytes; after: Bytes };
}

/** Reads exactly `length` bytes of the compressed file at `offset`, to memory that the caller may give away. */
type ReadPacked = (offset: number, length: number) => Promise<Bytes>;

/** A compressed file. */
export interface PackedFile {
  size: number;
  read: ReadPacked;
  /** Whether it may be read from its start to its end to find the units: on a server, this would download it. */
  isLocal: boolean;
}

/** The most data of a unit: the core decodes no larger parts. */
export const LARGEST_UNIT = 64 << 20;

/** The most units: an index takes memory. */
const MOST_UNITS = 1 << 18;

/** Units with less data are joined with the next one, if their container allows that. */
export const SMALL_UNIT = 1 << 20;

/** Collects units that follow each other in the file and in the content. */
export class Units {
  readonly all: Unit[] = [];
  /** The size of their data. */
  size = 0;

  /** Adds the next unit. Returns whether it is allowed: it is not too large, and there are not too many. */
  add(start: number, length: number, size: number): boolean {
    if (size > LARGEST_UNIT || this.all.length === MOST_UNITS) return false;
    this.all.push({ start, length, offset: this.size, size });
    this.size += size;
    return true;
  }
}

/** Collects parts that follow each other in the file. */
export class Parts {
  readonly all: Part[] = [];

  /** Adds the next part; joins small ones, and those without data, with the ones before. Returns as `Units.add` does. */
  add(part: Part): boolean {
    const { length, size } = part;
    if (size !== undefined && size > LARGEST_UNIT) return false;
    const last = this.all.at(-1);
    if (last && areJoined(last.size, size)) {
      last.length += length;
      last.size = last.size === undefined || size === undefined ? undefined : last.size + size;
      return true;
    }
    if (this.all.length === MOST_UNITS) return false;
    this.all.push({ ...part });
    return true;
  }
}

/** Whether a part with data of `size` is joined with one of `before`. */
function areJoined(before: number | undefined, size: number | undefined): boolean {
  if (before === 0 || size === 0) return true;
  return before !== undefined && size !== undefined && before < SMALL_UNIT && before + size <= LARGEST_UNIT;
}

/** Whether `bytes` have `magic` at `at`. */
export const hasMagic = (bytes: Uint8Array, magic: readonly number[], at = 0): boolean =>
  magic.every((byte, index) => bytes[at + index] === byte);

/** How much of a file is read at a time to find its units, in bytes. */
const WINDOW = 4 << 20;

/** Reads a file in ascending order, much at a time. */
export class AscendingReader {
  #bytes: Bytes = new Uint8Array(0);
  #start = 0;

  constructor(private readonly file: PackedFile) {}

  /** Resolves to `length` bytes at `offset`: fewer at the end of the file, and none after it. The next call must not go back. */
  async at(offset: number, length: number): Promise<DataView> {
    const end = Math.min(offset + length, this.file.size);
    // A length in a truncated or damaged file may lead anywhere.
    if (end <= offset) return new DataView(new ArrayBuffer(0));
    if (end > this.#start + this.#bytes.length) {
      this.#start = offset;
      this.#bytes = await this.file.read(offset, Math.min(Math.max(WINDOW, length), this.file.size - offset));
    }
    const from = offset - this.#start;
    return new DataView(this.#bytes.buffer, this.#bytes.byteOffset + from, end - offset);
  }
}
