// A set of bytes of a file.

import type { ByteRange } from './range-response.js';

/** More ranges than this are not remembered. */
const MAX_RANGES = 4096;

export class RangeSet {
  /** Apart from each other, in ascending order. */
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

  /** Whether it has any byte of the range. */
  overlaps({ start, end }: ByteRange): boolean {
    return this.#ranges.some((range) => range.start < end && range.end > start);
  }
}
