// What requests have brought besides what was wanted: the bytes between two ranges, kept for who wants them next.

import type { ByteRange } from './range-response.js';

/** Upper bound on the bytes that are kept. */
const MAX_KEPT = 4 << 20;

export class GapCache {
  /** The oldest first. */
  readonly #kept: { start: number; bytes: Uint8Array }[] = [];
  #length = 0;

  /** `bytes` have come, which lie in the file at `start`; those in `wanted`, sorted by start, went to somebody. */
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

  /** Hands what is kept of `range` to `take`, in order. Returns the parts of the range that are not kept. */
  take(range: ByteRange, take: (offset: number, bytes: Uint8Array) => void): ByteRange[] {
    const missing: ByteRange[] = [];
    let at = range.start;
    for (const { start, bytes } of this.#kept.toSorted((a, b) => a.start - b.start)) {
      const [from, to] = [Math.max(start, at), Math.min(start + bytes.length, range.end)];
      if (from >= to) continue;
      if (from > at) missing.push({ start: at, end: from });
      take(from, bytes.subarray(from - start, to - start));
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
