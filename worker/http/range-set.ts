// A set of bytes of a file, as ranges.

import type { ByteRange } from '../calls/byte-range.js';

/** Beyond this many ranges, the first ones are forgotten. */
const MAX_RANGES = 4096;

export class RangeSet {
  /** Disjoint, in ascending order. */
  #ranges: ByteRange[] = [];

  add({ start, end }: ByteRange): void {
    const first = this.#ranges.findIndex((range) => range.end >= start);
    const from = first < 0 ? this.#ranges.length : first;
    let to = from;
    const joined = { start, end };
    for (let range = this.#ranges[to]; range && range.start <= end; range = this.#ranges[to]) {
      joined.start = Math.min(joined.start, range.start);
      joined.end = Math.max(joined.end, range.end);
      to += 1;
    }
    this.#ranges.splice(from, to - from, joined);
    if (this.#ranges.length > MAX_RANGES) this.#ranges.shift();
  }

  overlaps({ start, end }: ByteRange): boolean {
    return this.#ranges.some((range) => range.start < end && range.end > start);
  }
}
