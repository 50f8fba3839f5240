// Ranges of a file: a set of them, a wanted one with its bytes as they arrive, and the bytes between wanted ones.

/** A range of bytes; `end` is exclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

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

export class WantedRange {
  /** Whether a reader waits for it; otherwise it was only announced. */
  isAwaited = false;
  isDropped = false;
  /** Resolves to the bytes when all have arrived. */
  readonly complete: Promise<Uint8Array<ArrayBuffer>>;
  #bytes: Uint8Array<ArrayBuffer> | undefined;
  #missing: number;
  #settle!: { resolve(bytes: Uint8Array<ArrayBuffer>): void; reject(thrown: unknown): void };

  constructor(
    readonly start: number,
    readonly length: number,
  ) {
    this.#missing = length;
    this.complete = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // An announced range may fail without a reader; a later read fetches it again.
    this.complete.catch(() => {});
  }

  get isComplete(): boolean {
    return this.#missing === 0;
  }

  /** Adds bytes, each once. Memory is allocated with the first ones. */
  add(offset: number, bytes: Uint8Array): void {
    if (this.isDropped) return;
    this.#bytes ??= new Uint8Array(this.length);
    this.#bytes.set(bytes, offset - this.start);
    this.#missing -= bytes.length;
    if (this.#missing === 0) this.#settle.resolve(this.#bytes);
  }

  fail(thrown: unknown): void {
    this.drop();
    this.#settle.reject(thrown);
  }

  drop(): void {
    this.isDropped = true;
    this.#bytes = undefined;
  }
}

/** A wanted range, or what of it is not there yet, in a queue for requests. */
export interface QueuedRange extends ByteRange {
  readonly wanted: WantedRange;
  /** Lower ones are fetched first. */
  readonly order: number;
}

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
