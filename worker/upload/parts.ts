// Cuts what comes in ascending order into parts of one size, the last one perhaps shorter.

export interface Part {
  /** From 0 on. */
  number: number;
  /** Where it begins in the output. */
  offset: number;
  bytes: Uint8Array;
  /** Nothing but zeros: all such parts share one buffer. */
  isZero: boolean;
  isLast: boolean;
  /** How many bytes up to its end were written: the others are holes. */
  written: number;
}

export class Parts {
  #number: number;
  #written: number;
  #filled = 0;
  /** Undefined while the part has zeros only. */
  #bytes: Uint8Array | undefined;
  #zeros: Uint8Array | undefined;

  /** What comes begins behind `parts`. `take` gets each part, and keeps the next from being made until it resolves. */
  constructor(
    private readonly size: number,
    { parts, written }: { parts: number; written: number },
    private readonly take: (part: Part) => Promise<void>,
  ) {
    this.#number = parts;
    this.#written = written;
  }

  async add(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      await this.#handOnIfFull();
      const piece = bytes.subarray(at, at + this.size - this.#filled);
      this.#bytes ??= new Uint8Array(this.size);
      this.#bytes.set(piece, this.#filled);
      this.#filled += piece.length;
      this.#written += piece.length;
      at += piece.length;
    }
  }

  async addZeros(length: number): Promise<void> {
    for (let left = length; left > 0; ) {
      await this.#handOnIfFull();
      const piece = Math.min(left, this.size - this.#filled);
      this.#filled += piece;
      left -= piece;
    }
  }

  /** Hands on the last part, which is empty only where nothing has come. */
  async end(): Promise<void> {
    await this.#handOn(true);
  }

  /** Only where more follows: the last part is to be known as such. */
  async #handOnIfFull(): Promise<void> {
    if (this.#filled === this.size) await this.#handOn(false);
  }

  async #handOn(isLast: boolean): Promise<void> {
    const [number, filled, bytes] = [this.#number, this.#filled, this.#bytes];
    this.#number += 1;
    this.#filled = 0;
    this.#bytes = undefined;
    if (!bytes) this.#zeros ??= new Uint8Array(this.size);
    const all = bytes ?? this.#zeros!;
    await this.take({
      number,
      offset: number * this.size,
      bytes: all.subarray(0, filled),
      isZero: bytes === undefined,
      isLast,
      written: this.#written,
    });
  }
}
