// A set of bytes of a file.

import type { Range } from './answer.js';

/** More ranges than this are not remembered. */
const MOST = 4096;

export class Ranges {
  /** Apart from each other, in ascending order. */
  #ranges: Range[] = [];

  add({ start, end }: Range): void {
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
    if (this.#ranges.length > MOST) this.#ranges.shift();
  }

  /** Whether it has any byte of the range. */
  meets({ start, end }: Range): boolean {
    return this.#ranges.some((range) => range.start < end && range.end > start);
  }
}
