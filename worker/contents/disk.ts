// A disk, read in small parts.

import { DecantError } from '../errors/errors.js';
import { orUsageError } from '../errors/option-names.js';
import { isOf } from '../errors/values.js';
import { ByteReader } from './bytes.js';

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
