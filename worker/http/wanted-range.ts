// A wanted range of a file, and its bytes as they arrive.

import type { ByteRange } from '../calls/byte-range.js';

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

/** The part of a wanted range that one request fetches. */
export interface WantedPart extends ByteRange {
  readonly wanted: WantedRange;
  /** Lower ones are fetched first. */
  readonly order: number;
}
