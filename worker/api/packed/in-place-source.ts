// The content of a compressed file as a source: reads decode the units that they need.

import { nextTask } from '../../calls/next-task.js';
import { toDecantError } from '../../errors/errors.js';
import type { Bytes, Source } from '../../public/types.js';
import { ContentError } from '../../sources/source-errors.js';
import type { PackedFile, PackedIndex, Unit } from './packed-index.js';
import { UnitCache } from './unit-cache.js';
import { type DecodedUnit, PART_HEAD, type UnitDecoder } from './unit-decoder.js';

/** The most bytes that are copied without a pause: the page must stay responsive. */
const PIECE = 1 << 20;

/** The longest piece of a local file, in bytes: each is freed once it has been decoded. */
const PIECE_OF_FILE = 2 << 20;

/** How often a conversion may decode the content. More is slower than to unpack it. */
const MOST_PASSES = 4;
/** Units that do not count for that. */
const FREE_UNITS = 16;

export class InPlaceSource implements Source {
  readonly size: number;
  /** The `memory` of a conversion by default, in bytes: units take memory, too. */
  readonly memory = 32 << 20;
  readonly #units: Unit[];
  readonly #cache: UnitCache;
  /** The units that have been decoded, and how many may be. */
  #decoded = 0;
  #allowed = Number.POSITIVE_INFINITY;
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  /** `first`: the data of the first unit, if it is known. */
  constructor(
    private readonly file: PackedFile,
    private readonly index: PackedIndex,
    private readonly decoder: UnitDecoder,
    first?: DecodedUnit,
  ) {
    this.#units = index.units;
    const last = this.#units.at(-1);
    this.size = last ? last.offset + last.size : 0;
    const decode = (number: number) => this.#run(this.#decode(this.#units[number]!));
    this.#cache = new UnitCache(this.#units, decode, decoder.workers + 1, first);
  }

  /** Waits for `conversion`. Its reads fail with the code `needs-spool` if they decode the content again and again. */
  async during<T>(conversion: Promise<T>): Promise<T> {
    this.#allowed = this.#decoded + MOST_PASSES * this.#units.length + FREE_UNITS;
    try {
      return await conversion;
    } finally {
      this.#allowed = Number.POSITIVE_INFINITY;
    }
  }

  /** Resolves when nothing reads the file any more. Reads must have been cancelled. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
  }

  async read(offset: number, length: number, { signal }: { signal: AbortSignal }): Promise<Bytes> {
    let bytes: Bytes | undefined;
    for (let done = 0; done < length; ) {
      const number = unitAt(this.#units, offset + done);
      const unit = this.#units[number]!;
      const start = offset + done - unit.offset;
      const end = Math.min(start + length - done, unit.size);
      await this.#cache.use(number, signal, async ({ bytes: data }) => {
        // Not before: many reads may wait for a unit.
        bytes ??= new Uint8Array(length);
        // Without bytes it is all zeros.
        if (data.length > 0) await copy(data.subarray(start, end), bytes, done);
      });
      done += end - start;
    }
    return bytes!;
  }

  async #decode(unit: Unit): Promise<DecodedUnit> {
    // A unit that was needed ahead.
    if (this.#isClosed) throw new ContentError('cancelled', 'The image was closed');
    const { container, around } = this.index;
    if (this.#decoded >= this.#allowed) {
      const message = `The disk is stored in the ${container} file in another order than it has; unpack it first`;
      throw new ContentError('unsupported', message, { code: 'needs-spool', fields: { container, size: this.size } });
    }
    this.#decoded += 1;
    const part = await partOf(this.file, unit, around);
    const decoded = await this.decoder.decode(container, part).catch((thrown) => {
      const { kind, code, fields, message } = toDecantError(thrown);
      throw kind === 'corrupt' ? damaged(container, unit, code) : new ContentError(kind, message, { code, fields });
    });
    if (decoded.size !== unit.size) throw damaged(container, unit, 'corrupt');
    return decoded;
  }

  async #run<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    try {
      return await work;
    } finally {
      this.#running.delete(work);
    }
  }
}

function damaged(container: string, { start, length }: Unit, code: string): ContentError {
  const message = `The ${container} file is damaged: its bytes from ${start} to ${start + length} could not be decompressed`;
  return new ContentError('corrupt', message, { code, fields: { container, offset: start } });
}

/** The number of the last unit that begins at `offset` of the content, or before. */
function unitAt(units: Unit[], offset: number): number {
  let [low, high] = [0, units.length];
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (units[middle]!.offset <= offset) low = middle;
    else high = middle;
  }
  return low;
}

/** Reads `unit` as the decoder takes it: the pieces of a complete file after `PART_HEAD` bytes. */
export async function partOf(file: PackedFile, unit: Unit, around?: PackedIndex['around']): Promise<Bytes[]> {
  const longest = file.isLocal ? PIECE_OF_FILE : unit.length;
  const pieces: Bytes[] = [];
  for (let at = 0; at < unit.length; at += longest) {
    pieces.push(await file.read(unit.start + at, Math.min(longest, unit.length - at)));
  }
  const { before, after } = around?.(unit) ?? { before: [], after: new Uint8Array(0) };
  const head = new Uint8Array(PART_HEAD + before.length);
  new DataView(head.buffer).setBigUint64(0, BigInt(unit.size), true);
  head.set(before, PART_HEAD);
  return [head, ...pieces, after];
}

/** Copies `from` to `to` at `at`, with pauses. */
export async function copy(from: Uint8Array, to: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < from.length; done += PIECE) {
    if (done > 0) await nextTask();
    to.set(from.subarray(done, done + PIECE), at + done);
  }
}
