// An upload whose first bytes come last: holds the first part back until all others are sent.

import type { Md5 } from './md5.js';
import type { PartCutter, UploadPart } from './part-cutter.js';
import { BodyBuilder } from './request-body.js';

/** Bytes copied before yielding to the event loop. */
const STEP = 1 << 20;

export class LateFirstPart {
  readonly #bytes: Uint8Array;
  /** The end of the output so far. */
  #end = 0;
  #written = 0;

  /** The first part has `size` bytes. `others` cuts the output after it. `take` gets the first part last. */
  constructor(
    size: number,
    private readonly others: PartCutter,
    private readonly take: (part: UploadPart) => Promise<void>,
    private readonly digest: Md5 | undefined,
  ) {
    this.#bytes = new Uint8Array(size);
  }

  async add(offset: number, bytes: Uint8Array): Promise<void> {
    const count = this.#inFirst(offset, bytes.length);
    if (count > 0) this.#bytes.set(bytes.subarray(0, count), offset);
    this.#written += count;
    if (count < bytes.length) await this.others.add(bytes.subarray(count));
  }

  async addZeros(offset: number, length: number): Promise<void> {
    const count = this.#inFirst(offset, length);
    if (count < length) await this.others.addZeros(length - count);
  }

  async end(): Promise<void> {
    const isLast = this.#end <= this.#bytes.length;
    if (!isLast) await this.others.end();
    const size = Math.min(this.#end, this.#bytes.length);
    const body = new BodyBuilder(size);
    for (let at = 0; at < size; at += STEP) {
      const piece = this.#bytes.subarray(at, Math.min(at + STEP, size));
      body.add(piece);
      await this.digest?.add(piece);
    }
    await this.take({ number: 0, offset: 0, size, body: body.end(), isLast, written: this.#written });
  }

  /** How many of `length` bytes at `offset` are in the first part. */
  #inFirst(offset: number, length: number): number {
    this.#end = Math.max(this.#end, offset + length);
    return Math.max(0, Math.min(length, this.#bytes.length - offset));
  }
}
