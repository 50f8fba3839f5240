// A disk as a picture of cells: the content of each part of the disk, and whether it is converted.

import type { Extent, LostRange } from 'decant';

/** The number of parts for which the package reports progress. */
const MOST_CELLS = 4096;

/** The content that a cell shows: the first in this order that its part of the disk has. */
export type Content = 'lost' | 'data' | 'compressed' | 'empty' | 'unknown';

export class DiskPicture {
  /** The bytes of the disk that a cell stands for. */
  readonly #length: number;
  readonly #contents: Content[];
  /** For each cell, the layer with the longest run of data in it, and the length of that run in bytes. */
  readonly #layers: Uint16Array;
  readonly #runs: Float64Array;
  /** `Progress.cells` of a conversion under way: 1 for each converted cell. */
  done: Uint8Array | undefined;

  /** Makes the picture of a disk of `size` bytes, all unknown. `layerNames` begins with the name of the image. */
  constructor(
    size: number,
    readonly layerNames: string[],
  ) {
    this.#length = Math.max(1, Math.ceil(size / MOST_CELLS));
    const count = Math.ceil(size / this.#length);
    this.#contents = new Array<Content>(count).fill('unknown');
    this.#layers = new Uint16Array(count);
    this.#runs = new Float64Array(count);
  }

  /** The number of cells: at most 4,096. */
  get count(): number {
    return this.#contents.length;
  }

  /** The cell of the byte at `offset`, or the number of cells of as many bytes. */
  cellAt(offset: number): number {
    return Math.floor(offset / this.#length);
  }

  contentOf(cell: number): Content {
    return this.#contents[cell]!;
  }

  /** The index of the layer that `cell` belongs to; 0 is the image. */
  layerOf(cell: number): number {
    return this.#layers[cell]!;
  }

  /** The contents and layers that the picture shows. */
  get legend(): { contents: Set<Content>; layers: Set<number> } {
    const contents = new Set(this.#contents);
    const layers = new Set<number>();
    for (let cell = 0; cell < this.count; cell += 1) if (this.#runs[cell]! > 0) layers.add(this.#layers[cell]!);
    return { contents, layers };
  }

  add({ start, length, kind, compressed, depth }: Extent): void {
    const content: Content =
      kind === 'lost' ? 'lost' : kind === 'data' ? (compressed ? 'compressed' : 'data') : 'empty';
    const end = start + length;
    for (const cell of this.#mark(start, length, content)) {
      const run = Math.min(end, (cell + 1) * this.#length) - Math.max(start, cell * this.#length);
      if (kind !== 'data' || run <= this.#runs[cell]!) continue;
      this.#runs[cell] = run;
      this.#layers[cell] = depth;
    }
  }

  /** Adds a range that a conversion could not read. */
  lose({ start, length }: LostRange): void {
    this.#mark(start, length, 'lost');
  }

  /** Adds `content` to the cells of a range, and returns them. */
  #mark(start: number, length: number, content: Content): number[] {
    const cells: number[] = [];
    for (let cell = Math.floor(start / this.#length); cell * this.#length < start + length; cell += 1) {
      if (RANK[content] < RANK[this.#contents[cell]!]) this.#contents[cell] = content;
      cells.push(cell);
    }
    return cells;
  }
}

const RANK: Record<Content, number> = { lost: 0, data: 1, compressed: 2, empty: 3, unknown: 4 };
