// A range of a file that is wanted, and its bytes as they come.

import type { ByteRange } from './range-response.js';

export class WantedRange {
  /** Whether somebody waits for it. */
  isAwaited = false;
  /** Whether nobody wants it any more. */
  isDropped = false;
  /** Resolves when all its bytes have come. */
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
    // One that nobody has asked for yet may fail: who asks then fetches it anew.
    this.complete.catch(() => {});
  }

  /** Whether all its bytes have come. */
  get isComplete(): boolean {
    return this.#missing === 0;
  }

  /** The memory is taken when the first bytes come. No byte comes twice. */
  add(offset: number, bytes: Uint8Array): void {
    if (this.isDropped) return;
    this.#bytes ??= new Uint8Array(this.length);
    this.#bytes.set(bytes, offset - this.start);
    this.#missing -= bytes.length;
    if (this.#missing === 0) this.#settle.resolve(this.#bytes);
  }

  /** It is not to be had. */
  fail(thrown: unknown): void {
    this.drop();
    this.#settle.reject(thrown);
  }

  drop(): void {
    this.isDropped = true;
    this.#bytes = undefined;
  }
}

/** A part of what is wanted that one request brings, or is to bring. */
export interface WantedPart extends ByteRange {
  readonly wanted: WantedRange;
  /** Which part is due first. */
  readonly order: number;
}
