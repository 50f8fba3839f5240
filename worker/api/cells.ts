// Which parts of a disk are done.

/** More are no use to a person. */
const MOST = 4096;

export class Cells {
  /** In bytes; the last one is shorter where the disk is no multiple of it. */
  readonly #length: number;
  /** How many bytes of each are done. */
  readonly #bytes: Float64Array;

  constructor(private readonly total: number) {
    this.#length = Math.max(1, Math.ceil(total / MOST));
    this.#bytes = new Float64Array(Math.ceil(total / this.#length));
  }

  /** The bytes from `start` to before `end` are done; no byte is told twice. */
  add(start: number, end: number): void {
    for (let at = start; at < end; ) {
      const cell = Math.floor(at / this.#length);
      const next = Math.min((cell + 1) * this.#length, end);
      this.#bytes[cell]! += next - at;
      at = next;
    }
  }

  /** 1 for each cell that is done, else 0. */
  done(): Uint8Array {
    const lengthOf = (cell: number) => Math.min(this.#length, this.total - cell * this.#length);
    return Uint8Array.from(this.#bytes, (bytes, cell) => Number(bytes >= lengthOf(cell)));
  }
}
