// Bytes that requests fetched between two wanted ranges, kept in case they are wanted next.

import type { ByteRange } from '../calls/byte-range.js';

/** Upper bound on the cached bytes. */
const MAX_KEPT = 4 << 20;

export class GapCache {
  /** Oldest first. */
  readonly #kept: { start: number; bytes: Uint8Array }[] = [];
  #length = 0;

  /** Caches the parts of `bytes`, at `start` in the file, outside the ranges `wanted`, which are sorted by start. */
  add(start: number, bytes: Uint8Array, wanted: readonly ByteRange[]): void {
    const end = start + bytes.length;
    let at = start;
    for (const part of wanted) {
      if (part.start >= end) break;
      if (part.start > at) this.#keep(at, bytes.slice(at - start, part.start - start));
      at = Math.max(at, part.end);
    }
    if (at < end) this.#keep(at, bytes.slice(at - start));
  }

  /** Passes the cached parts of `range` to `deliver`, in order. Returns the other parts. */
  take(range: ByteRange, deliver: (offset: number, bytes: Uint8Array) => void): ByteRange[] {
    const missing: ByteRange[] = [];
    let at = range.start;
    for (const { start, bytes } of this.#kept.toSorted((a, b) => a.start - b.start)) {
      const [from, to] = [Math.max(start, at), Math.min(start + bytes.length, range.end)];
      if (from >= to) continue;
      if (from > at) missing.push({ start: at, end: from });
      deliver(from, bytes.subarray(from - start, to - start));
      at = to;
    }
    if (at < range.end) missing.push({ start: at, end: range.end });
    return missing;
  }

  #keep(start: number, bytes: Uint8Array): void {
    this.#kept.push({ start, bytes });
    this.#length += bytes.length;
    while (this.#length > MAX_KEPT) this.#length -= this.#kept.shift()!.bytes.length;
  }
}
