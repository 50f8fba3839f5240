// A disk, read in small parts.

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
    return new ByteReader(there > 0 ? await this.readBytes(offset, there) : new Uint8Array());
  }
}
