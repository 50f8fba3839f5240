// Announces future reads to a source. The source keeps one list, but several readers, also of several images, announce reads.

import { callListener } from '../errors/errors.js';
import type { Source } from '../public/types.js';

interface ExpectedRange {
  offset: number;
  length: number;
}

/** All expectations of each source. */
const ofSources = new WeakMap<Source, Set<Expectations>>();

/** The announced reads of `source` by the readers of one loan. */
export class Expectations {
  /** The ranges announced and not yet read, by reader number. */
  readonly #readers = new Map<number, ExpectedRange[]>();

  constructor(private readonly source: Source) {
    ofSources.set(source, (ofSources.get(source) ?? new Set()).add(this));
  }

  /** Announces that `reader` will read `ranges`. An empty list means that it has ended. */
  announce(reader: number, ranges: ExpectedRange[]): void {
    const announced = this.#readers.get(reader) ?? [];
    if (ranges.length === 0) {
      if (this.#readers.delete(reader)) this.#cancel(announced);
      return;
    }
    for (const range of ranges) announced.push(range);
    this.#readers.set(reader, announced);
    announceReads(this.source, ranges);
  }

  /** Removes a range that is about to be read. */
  read(offset: number, length: number): void {
    for (const announced of this.#readers.values()) {
      const at = announced.findIndex((range) => range.offset === offset && range.length === length);
      if (at < 0) continue;
      announced.splice(at, 1);
      return;
    }
  }

  /** Ends all readers. */
  end(): void {
    ofSources.get(this.source)?.delete(this);
    const left = this.#all();
    const hasReaders = this.#readers.size > 0;
    this.#readers.clear();
    if (hasReaders) this.#cancel(left);
  }

  /** Cancels the announcements `left`. The empty list cancels those of other readers too, so theirs are repeated. */
  #cancel(left: ExpectedRange[]): void {
    const others = [...(ofSources.get(this.source) ?? [])].flatMap((each) => each.#all());
    if (left.length === 0 && others.length > 0) return;
    announceReads(this.source, []);
    if (others.length > 0) announceReads(this.source, others);
  }

  #all(): ExpectedRange[] {
    return [...this.#readers.values()].flat();
  }
}

/** Announces reads to `source`. Its failures are ignored: the reads themselves report them. */
export function announceReads(source: Source, ranges: { offset: number; length: number }[]): void {
  // Announcements affect only the speed.
  callListener(
    () => source.expect?.(ranges),
    () => {},
  );
}
