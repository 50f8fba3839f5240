// Cuts what comes in ascending order into parts, the last one perhaps shorter. They have one size, unless nobody knows how many
// there will be.

import type { Md5 } from './md5.js';
import { type Body, BodyBuilder, sizeOf, zeros } from './request-body.js';

/** The size of the part `number`, in bytes. */
export type PartSize = (number: number) => number;

export interface UploadPart {
  /** From 0 on. */
  number: number;
  /** Where it begins in the output. */
  offset: number;
  /** In bytes. */
  size: number;
  body: Body;
  isLast: boolean;
  /** How many bytes up to its end were written: the others are holes. */
  written: number;
}

export class PartCutter {
  #number: number;
  /** Where the part begins in the output. */
  #offset: number;
  #written: number;
  #filled = 0;
  /** Undefined while the part has zeros only. */
  #gathering: BodyBuilder | undefined;
  /** The last body of zeros: parts of one size share it. */
  #zeros: Body | undefined;

  /**
   * What comes begins after `parts`, which have one size. `take` gets each part, and keeps the next from being made until it resolves; `digest` has
   * got the bytes of the part by then.
   */
  constructor(
    private readonly sizeOf: PartSize,
    { parts, written }: { parts: number; written: number },
    private readonly take: (part: UploadPart) => Promise<void>,
    private readonly digest?: Md5,
  ) {
    this.#number = parts;
    this.#offset = parts * sizeOf(0);
    this.#written = written;
  }

  async add(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      await this.#handOnIfFull();
      const piece = bytes.subarray(at, at + this.#size - this.#filled);
      this.#gather().add(piece);
      await this.digest?.add(piece);
      this.#filled += piece.length;
      this.#written += piece.length;
      at += piece.length;
    }
  }

  async addZeros(length: number): Promise<void> {
    for (let left = length; left > 0; ) {
      await this.#handOnIfFull();
      const piece = Math.min(left, this.#size - this.#filled);
      this.#gathering?.addZeros(piece);
      await this.digest?.addZeros(piece);
      this.#filled += piece;
      left -= piece;
    }
  }

  /** Hands on the last part, which is empty only where nothing has come. */
  async end(): Promise<void> {
    await this.#handOn(true);
  }

  get #size(): number {
    return this.sizeOf(this.#number);
  }

  #gather(): BodyBuilder {
    if (!this.#gathering) {
      this.#gathering = new BodyBuilder(this.#size);
      this.#gathering.addZeros(this.#filled);
    }
    return this.#gathering;
  }

  /** Only where more follows: the last part is to be known as such. */
  async #handOnIfFull(): Promise<void> {
    if (this.#filled === this.#size) await this.#handOn(false);
  }

  async #handOn(isLast: boolean): Promise<void> {
    const [number, offset, size] = [this.#number, this.#offset, this.#filled];
    const body = this.#gathering?.end() ?? this.#zerosOf(size);
    this.#number += 1;
    this.#offset += size;
    this.#filled = 0;
    this.#gathering = undefined;
    await this.take({ number, offset, size, body, isLast, written: this.#written });
  }

  #zerosOf(size: number): Body {
    if (this.#zeros === undefined || sizeOf(this.#zeros) !== size) this.#zeros = zeros(size);
    return this.#zeros;
  }
}
