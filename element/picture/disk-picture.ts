// A disk as a picture of cells: the content of each part of the disk, and whether it is converted.

import type { Extent, LostRange } from 'decant';

/** The number of parts for which the package reports progress. */
const MOST_CELLS = 4096;

/** The content that a cell shows: the first in this order that its part of the disk has. */
export type Content = 'lost' | 'data' | 'compressed' | 'empty' | 'unknown';

/** The content of several neighbouring cells, shown as one. */
export interface Summary {
  content: Content;
  /** The index of the layer with most of the cells that have data; 0 is the image. */
  layer: number;
  /** The converted share of the cells: 0 to 1. */
  done: number;
}

export class DiskPicture {
  /** The bytes of the disk that a cell stands for. */
  readonly #length: number;
  readonly #contents: Content[];
  /** For each cell, the layer with the longest run of data in it, and the length of that run in bytes. */
  readonly #layers: Uint16Array;
  readonly #runs: Float64Array;
  /** `Progress.cells` of a conversion under way: 1 for each converted cell. It may end before the last cells, which are not converted. */
  done: Uint8Array | undefined;

  /** Makes the picture of a disk of `size` bytes, all unknown. `layerNames` begins with the name of the image. */
  constructor(
    readonly size: number,
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

  /** Summarises the cells that contain the bytes from `start` to before `end`: at least one cell. */
  summary(start: number, end: number): Summary {
    const { first, after } = this.#cellsIn(start, end);
    let content: Content = 'unknown';
    let done = 0;
    const layers = new Map<number, number>();
    for (let cell = first; cell < after; cell += 1) {
      const one = this.#contents[cell]!;
      if (RANK[one] < RANK[content]) content = one;
      done += this.done ? (this.done[cell] ?? 0) : 1;
      if (this.#runs[cell]! === 0) continue;
      layers.set(this.#layers[cell]!, (layers.get(this.#layers[cell]!) ?? 0) + 1);
    }
    const [layer] = [...layers].reduce((most, one) => (one[1] > most[1] ? one : most), [0, 0]);
    return { content, layer, done: done / (after - first) };
  }

  /** The share of the bytes from `start` to before `end`, 0 to 1, whose cells have data. */
  shareOfData(start: number, end: number): number {
    const { first, after } = this.#cellsIn(start, end);
    let data = 0;
    for (let cell = first; cell < after; cell += 1) if (RANK[this.#contents[cell]!] < RANK.empty) data += 1;
    return data / (after - first);
  }

  /** The cells of the bytes from `start` to before `end`: at least one. */
  #cellsIn(start: number, end: number): { first: number; after: number } {
    const first = Math.min(Math.floor(start / this.#length), this.count - 1);
    return { first, after: Math.max(first + 1, Math.min(Math.ceil(end / this.#length), this.count)) };
  }

  /** The contents and layers that the picture shows. */
  get legend(): { contents: Set<Content>; layers: Set<number> } {
    const contents = new Set(this.#contents);
    const layers = new Set<number>();
    for (let cell = 0; cell < this.count; cell += 1) if (this.#runs[cell]! > 0) layers.add(this.#layers[cell]!);
    return { contents, layers };
  }

  add({ offset, length, kind, compressed, depth }: Extent): void {
    const content: Content =
      kind === 'lost' ? 'lost' : kind === 'data' ? (compressed ? 'compressed' : 'data') : 'empty';
    const end = offset + length;
    for (const cell of this.#mark(offset, length, content)) {
      const run = Math.min(end, (cell + 1) * this.#length) - Math.max(offset, cell * this.#length);
      if (kind !== 'data' || run <= this.#runs[cell]!) continue;
      this.#runs[cell] = run;
      this.#layers[cell] = depth;
    }
  }

  /** Adds a range that a conversion could not read. */
  lose({ offset, length }: LostRange): void {
    this.#mark(offset, length, 'lost');
  }

  /** Adds `content` to the cells of a range, and returns them. */
  #mark(offset: number, length: number, content: Content): number[] {
    const cells: number[] = [];
    for (let cell = Math.floor(offset / this.#length); cell * this.#length < offset + length; cell += 1) {
      if (RANK[content] < RANK[this.#contents[cell]!]) this.#contents[cell] = content;
      cells.push(cell);
    }
    return cells;
  }
}

const RANK: Record<Content, number> = { lost: 0, data: 1, compressed: 2, empty: 3, unknown: 4 };
