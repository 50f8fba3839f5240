// What a source is told of what will be read. It knows one list only; several readers tell it, of one image or more.

import type { Source } from '../public/types.js';
import { announceReads } from './custom-source.js';

interface ExpectedRange {
  offset: number;
  length: number;
}

/** By their sources. */
const ofSources = new WeakMap<Source, Set<Expectations>>();

/** What the readers of one loan expect of `source`. */
export class Expectations {
  /** By the numbers of the readers: what was told and not read yet. */
  readonly #readers = new Map<number, ExpectedRange[]>();

  constructor(private readonly source: Source) {
    ofSources.set(source, (ofSources.get(source) ?? new Set()).add(this));
  }

  /** `reader` will read `ranges`. None: it has ended. */
  tell(reader: number, ranges: ExpectedRange[]): void {
    const told = this.#readers.get(reader) ?? [];
    if (ranges.length === 0) {
      if (this.#readers.delete(reader)) this.#settle(told);
      return;
    }
    for (const range of ranges) told.push(range);
    this.#readers.set(reader, told);
    announceReads(this.source, ranges);
  }

  /** The range is about to be read. */
  read(offset: number, length: number): void {
    for (const told of this.#readers.values()) {
      const at = told.findIndex((range) => range.offset === offset && range.length === length);
      if (at < 0) continue;
      told.splice(at, 1);
      return;
    }
  }

  /** All readers have ended. */
  end(): void {
    ofSources.get(this.source)?.delete(this);
    const left = this.#all();
    const hasTold = this.#readers.size > 0;
    this.#readers.clear();
    if (hasTold) this.#settle(left);
  }

  /** Takes back `left`. An empty list takes back what others have told, too: that is told anew. */
  #settle(left: ExpectedRange[]): void {
    const others = [...(ofSources.get(this.source) ?? [])].flatMap((each) => each.#all());
    if (left.length === 0 && others.length > 0) return;
    announceReads(this.source, []);
    if (others.length > 0) announceReads(this.source, others);
  }

  #all(): ExpectedRange[] {
    return [...this.#readers.values()].flat();
  }
}
