// Cuts what comes in ascending order into parts of one size, the last one perhaps shorter.

import { type Body, Gathering, zeros } from './body.js';
import type { Digest } from './md5.js';

export interface Part {
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

export class Parts {
  #number: number;
  #written: number;
  #filled = 0;
  /** Undefined while the part has zeros only. */
  #gathering: Gathering | undefined;
  /** The body of a part of zeros: all such parts share it. */
  #zeros: Body | undefined;

  /**
   * What comes begins behind `parts`. `take` gets each part, and keeps the next from being made until it resolves; `digest` has
   * got the bytes of the part by then.
   */
  constructor(
    private readonly size: number,
    { parts, written }: { parts: number; written: number },
    private readonly take: (part: Part) => Promise<void>,
    private readonly digest?: Digest,
  ) {
    this.#number = parts;
    this.#written = written;
  }

  async add(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      await this.#handOnIfFull();
      const piece = bytes.subarray(at, at + this.size - this.#filled);
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
      const piece = Math.min(left, this.size - this.#filled);
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

  #gather(): Gathering {
    if (!this.#gathering) {
      this.#gathering = new Gathering(this.size);
      this.#gathering.addZeros(this.#filled);
    }
    return this.#gathering;
  }

  /** Only where more follows: the last part is to be known as such. */
  async #handOnIfFull(): Promise<void> {
    if (this.#filled === this.size) await this.#handOn(false);
  }

  async #handOn(isLast: boolean): Promise<void> {
    const [number, size] = [this.#number, this.#filled];
    const body = this.#gathering?.end() ?? this.#zerosOf(size);
    this.#number += 1;
    this.#filled = 0;
    this.#gathering = undefined;
    await this.take({ number, offset: number * this.size, size, body, isLast, written: this.#written });
  }

  #zerosOf(size: number): Body {
    if (size !== this.size) return zeros(size);
    this.#zeros ??= zeros(size);
    return this.#zeros;
  }
}
