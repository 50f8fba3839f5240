// A disk as a picture: what its parts hold, and which of them are converted.

import type { Extent } from 'decant';

/** The package tells the progress of as many parts. */
const MOST = 4096;

/** What a cell shows. A part of the disk may hold several; the first in this order that it has is shown. */
export type Content = 'lost' | 'data' | 'compressed' | 'empty' | 'unknown';

export class DiskPicture {
  /** In bytes. */
  readonly #length: number;
  readonly #contents: Content[];
  /** The layer with the longest run of data in a cell, and how long that is. */
  readonly #layers: Uint16Array;
  readonly #runs: Float64Array;
  /** As `Progress.cells`: 1 for each cell that is converted. `undefined` before and after. */
  done: Uint8Array | undefined;

  /** For a disk of `size` bytes, of which nothing is known yet. `layerNames` begins with the image's. */
  constructor(
    size: number,
    readonly layerNames: string[],
  ) {
    this.#length = Math.max(1, Math.ceil(size / MOST));
    const count = Math.ceil(size / this.#length);
    this.#contents = new Array<Content>(count).fill('unknown');
    this.#layers = new Uint16Array(count);
    this.#runs = new Float64Array(count);
  }

  /** How many cells it has: 4,096 or fewer. */
  get count(): number {
    return this.#contents.length;
  }

  contentOf(cell: number): Content {
    return this.#contents[cell]!;
  }

  /** The number of the layer that most of a cell's data comes from: 0 is the image. */
  layerOf(cell: number): number {
    return this.#layers[cell]!;
  }

  /** The contents that it shows by now, and the layers that data comes from. */
  get legend(): { contents: Set<Content>; layers: Set<number> } {
    const contents = new Set(this.#contents);
    const layers = new Set<number>();
    for (let cell = 0; cell < this.count; cell += 1) if (this.#runs[cell]! > 0) layers.add(this.#layers[cell]!);
    return { contents, layers };
  }

  /** Adds an extent of the map. */
  add({ start, length, kind, compressed, depth }: Extent): void {
    const content: Content =
      kind === 'lost' ? 'lost' : kind === 'data' ? (compressed ? 'compressed' : 'data') : 'empty';
    const end = start + length;
    for (let cell = Math.floor(start / this.#length); cell * this.#length < end; cell += 1) {
      if (RANK[content] < RANK[this.#contents[cell]!]) this.#contents[cell] = content;
      const run = Math.min(end, (cell + 1) * this.#length) - Math.max(start, cell * this.#length);
      if (kind !== 'data' || run <= this.#runs[cell]!) continue;
      this.#runs[cell] = run;
      this.#layers[cell] = depth;
    }
  }
}

const RANK: Record<Content, number> = { lost: 0, data: 1, compressed: 2, empty: 3, unknown: 4 };
