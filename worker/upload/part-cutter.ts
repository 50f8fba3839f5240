// Cuts ascending writes into parts of one size, or of growing sizes if their number is unknown. The last one may be shorter.

import { type BodyMaker, LocalBodyMaker } from './body-maker.js';
import { type Body, sizeOf, zeros } from './request-body.js';

/** Returns the size of part `number`, in bytes. */
export type PartSize = (number: number) => number;

export interface UploadPart {
  /** From 0. */
  number: number;
  /** Where it begins in the output. */
  offset: number;
  /** In bytes. */
  size: number;
  body: Body;
  isLast: boolean;
  /** Bytes of the output up to its end, without holes. */
  written: number;
  /** Resolves to the MD5 digest of the parts since the last call, if the protocol has `digests`. */
  digest(): Promise<Uint8Array>;
}

export class PartCutter {
  #number: number;
  /** Where the part begins in the output. */
  #offset: number;
  #written: number;
  #filled = 0;
  /** Whether the part has other bytes than zeros. */
  #hasBody = false;
  /** The last body of zeros, shared by parts of one size. */
  #zeros: Body | undefined;

  /**
   * The first write follows `parts` parts of one size. `take` gets each part, after `maker` got its bytes; the next part is made
   * when it resolves.
   */
  constructor(
    private readonly sizeOf: PartSize,
    { parts, written }: { parts: number; written: number },
    private readonly take: (part: UploadPart) => Promise<void>,
    private readonly maker: BodyMaker = new LocalBodyMaker(false),
  ) {
    this.#number = parts;
    this.#offset = parts * sizeOf(0);
    this.#written = written;
  }

  async add(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      await this.#handOnIfFull();
      const piece = bytes.subarray(at, at + this.#size - this.#filled);
      this.#begin();
      await this.maker.add(piece);
      this.#filled += piece.length;
      this.#written += piece.length;
      at += piece.length;
    }
  }

  async addZeros(length: number): Promise<void> {
    for (let left = length; left > 0; ) {
      await this.#handOnIfFull();
      const piece = Math.min(left, this.#size - this.#filled);
      await this.maker.addZeros(piece);
      this.#filled += piece;
      left -= piece;
    }
  }

  /** Passes on the last part, which is empty only for an empty output. */
  async end(): Promise<void> {
    await this.#handOn(true);
  }

  get #size(): number {
    return this.sizeOf(this.#number);
  }

  #begin(): void {
    if (!this.#hasBody) this.maker.begin(this.#size, this.#filled);
    this.#hasBody = true;
  }

  /** Called when more bytes follow, so that the last part is marked `isLast`. */
  async #handOnIfFull(): Promise<void> {
    if (this.#filled === this.#size) await this.#handOn(false);
  }

  async #handOn(isLast: boolean): Promise<void> {
    const [number, offset, size] = [this.#number, this.#offset, this.#filled];
    const body = this.#hasBody ? await this.maker.end() : this.#zerosOf(size);
    this.#number += 1;
    this.#offset += size;
    this.#filled = 0;
    this.#hasBody = false;
    const digest = () => this.maker.digest();
    await this.take({ number, offset, size, body, isLast, written: this.#written, digest });
  }

  #zerosOf(size: number): Body {
    if (this.#zeros === undefined || sizeOf(this.#zeros) !== size) this.#zeros = zeros(size);
    return this.#zeros;
  }
}

/** Bytes copied before yielding to the event loop. */
const STEP = 1 << 20;

/** Holds the first part back until all others are sent, for an upload whose first bytes come last. */
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
    private readonly maker: BodyMaker,
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
    this.maker.begin(size);
    for (let at = 0; at < size; at += STEP) {
      await this.maker.add(this.#bytes.subarray(at, Math.min(at + STEP, size)));
    }
    const body = await this.maker.end();
    const digest = () => this.maker.digest();
    await this.take({ number: 0, offset: 0, size, body, isLast, written: this.#written, digest });
  }

  /** How many of `length` bytes at `offset` are in the first part. */
  #inFirst(offset: number, length: number): number {
    this.#end = Math.max(this.#end, offset + length);
    return Math.max(0, Math.min(length, this.#bytes.length - offset));
  }
}
