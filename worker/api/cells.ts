// The progress map: the finished parts of a disk.

/** The maximum number of cells: more would not be visible. */
const MOST = 4096;

export class Cells {
  /** The size of a cell in bytes. The last one may be shorter. */
  readonly #length: number;
  /** The finished bytes of each cell. */
  readonly #bytes: Float64Array;

  constructor(private readonly total: number) {
    this.#length = Math.max(1, Math.ceil(total / MOST));
    this.#bytes = new Float64Array(Math.ceil(total / this.#length));
  }

  /** Marks the bytes from `start` up to `end` as finished. No byte may be marked twice. */
  add(start: number, end: number): void {
    for (let at = start; at < end; ) {
      const cell = Math.floor(at / this.#length);
      const next = Math.min((cell + 1) * this.#length, end);
      this.#bytes[cell]! += next - at;
      at = next;
    }
  }

  /** One entry for each cell: 1 if it is finished, otherwise 0. */
  done(): Uint8Array {
    const lengthOf = (cell: number) => Math.min(this.#length, this.total - cell * this.#length);
    return Uint8Array.from(this.#bytes, (bytes, cell) => Number(bytes >= lengthOf(cell)));
  }
}
