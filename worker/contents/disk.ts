// A disk, read in small parts, and the numbers and texts in its bytes.

import { orUsageError } from '../errors/argument-checks.js';
import { DecantError } from '../errors/errors.js';
import { isOf } from '../errors/values.js';

/** Stands for numbers that JavaScript cannot represent exactly. No disk is that large. */
const TOO_LARGE = Number.MAX_SAFE_INTEGER;

/** Reads numbers and texts. Bytes beyond the end read as zeros. */
export class ByteReader {
  readonly #view: DataView;

  constructor(readonly array: Uint8Array) {
    this.#view = new DataView(array.buffer, array.byteOffset, array.byteLength);
  }

  #has(at: number, length: number): boolean {
    return at >= 0 && at + length <= this.#view.byteLength;
  }

  u8(at: number): number {
    return this.#has(at, 1) ? this.#view.getUint8(at) : 0;
  }

  i8(at: number): number {
    return this.#has(at, 1) ? this.#view.getInt8(at) : 0;
  }

  u16(at: number): number {
    return this.#has(at, 2) ? this.#view.getUint16(at, true) : 0;
  }

  u32(at: number): number {
    return this.#has(at, 4) ? this.#view.getUint32(at, true) : 0;
  }

  u64(at: number): number {
    return this.#has(at, 8) ? exact(this.#view.getBigUint64(at, true)) : 0;
  }

  /** Big-endian, unlike the others. */
  u32Big(at: number): number {
    return this.#has(at, 4) ? this.#view.getUint32(at, false) : 0;
  }

  u64Big(at: number): number {
    return this.#has(at, 8) ? exact(this.#view.getBigUint64(at, false)) : 0;
  }

  /** Whether the ASCII text `text` is at `at`. */
  has(text: string, at: number): boolean {
    return [...text].every((character, index) => this.u8(at + index) === character.charCodeAt(0));
  }

  part(at: number, length: number): Uint8Array {
    return this.array.subarray(at, Math.min(at + length, this.array.length));
  }

  /** Returns a text that ends at its first NUL or after `length` bytes, trimmed. */
  text(at: number, length: number, encoding: 'utf-8' | 'utf-16le' | 'latin1' = 'utf-8'): string {
    const decoded = new TextDecoder(encoding).decode(this.part(at, length));
    return decoded.split('\0')[0]!.trim();
  }
}

const exact = (value: bigint): number => (value > BigInt(TOO_LARGE) ? TOO_LARGE : Number(value));

/** The CRC of gzip and GPT. */
export function crc32(bytes: Uint8Array): number {
  let crc = 0xffff_ffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb8_8320 : 0);
  }
  return (crc ^ 0xffff_ffff) >>> 0;
}

export class Disk {
  constructor(
    /** Resolves to exactly `length` bytes of the disk from `offset`. */
    private readonly readBytes: (offset: number, length: number) => Promise<Uint8Array>,
    /** The size in bytes. */
    readonly size: number,
  ) {}

  /** Reads `length` bytes from `offset`, or fewer at the end of the disk; none outside of it. */
  async read(offset: number, length: number): Promise<ByteReader> {
    const there = offset >= 0 ? Math.min(length, this.size - offset) : 0;
    if (there <= 0) return new ByteReader(new Uint8Array());
    const bytes: unknown = await this.readBytes(offset, there);
    const isWhole = orUsageError(
      "the result of 'read'",
      () => isOf<Uint8Array>(bytes, 'Uint8Array') && bytes.length === there,
    );
    if (!isWhole) throw new DecantError('usage', `'read' must resolve to a Uint8Array of ${there} bytes`);
    return new ByteReader(bytes as Uint8Array);
  }
}
