// A `File` or `Blob` as the crate reads it: ranges that follow each other by one long stream, others by slices.
//
// A stream takes less processor time: the browser's process begins one read instead of many, and the memory of a piece is used
// again.

import type { RangedSource, RangeReader } from './worker-host.js';

/** The size of the pieces of a stream, in bytes. */
const PIECE = 2 << 20;
/** The largest gap between two ranges, in bytes, that a stream reads over. */
const GAP = 256 << 10;
/** How long a stream may take for a piece, in milliseconds. After that, the rest of the file is read by slices. */
const STALL_MS = 5000;
/** If memory is short, large slices fail before small ones: a failed one is repeated in halves, down to this size in bytes. */
const LEAST = 256 << 10;
/** Exceptions of browsers if memory is short; some have other reasons, too. */
const TOO_LARGE = ['NotReadableError', 'RangeError'];

/** A port whose other end is closed. */
let nowhere: MessagePort | undefined;

/** Frees the memory of `buffer` now, by transferring it to a closed port: the garbage collector lets 64 MiB accumulate first. */
function release(buffer: ArrayBuffer): void {
  if (!nowhere) {
    const { port1, port2 } = new MessageChannel();
    port2.close();
    nowhere = port1;
  }
  nowhere.postMessage(0, [buffer]);
}

/** The time in which a stream is read for one range. */
interface Turn {
  /** Resolves when all earlier ranges have been read. */
  begins: Promise<void>;
  /** Called when the range has been read. */
  end(): void;
}

/** A stream from some offset of a file to its end. */
class FileStream {
  readonly #reader: ReadableStreamBYOBReader | undefined;
  #buffer = new ArrayBuffer(PIECE);
  /** Resolves when the last range has been read: ranges are read one after another. */
  #isRead = Promise.resolve();
  isBroken = false;

  /** `at` is the offset of the next byte. */
  constructor(
    blob: Blob,
    private at: number,
  ) {
    try {
      this.#reader = blob.slice(at).stream().getReader({ mode: 'byob' });
    } catch {
      // The streams of this browser take no buffers.
      this.isBroken = true;
    }
  }

  /** Adds a range. */
  turn(): Turn {
    const begins = this.#isRead;
    let end!: () => void;
    const isRead = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#isRead = begins.then(() => isRead);
    return { begins, end };
  }

  /** Resolves to the next bytes from `start`, at most `length`, or to `undefined` if it cannot. They are valid until the next call. */
  async piece(start: number, length: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (this.isBroken) return undefined;
    const stalled = setTimeout(() => this.cancel(), STALL_MS);
    try {
      while (this.at < start) await this.#fill(start - this.at);
      return await this.#fill(length);
    } catch {
      // Slices are read instead, and report an error of the file.
      this.cancel();
      return undefined;
    } finally {
      clearTimeout(stalled);
    }
  }

  cancel(): void {
    this.isBroken = true;
    // Whatever happened to the stream, it is no longer read.
    this.#reader?.cancel().catch(() => {});
  }

  async #fill(most: number): Promise<Uint8Array<ArrayBuffer>> {
    const length = Math.min(most, PIECE);
    for (let filled = 0; filled < length; ) {
      const { value } = await this.#reader!.read(new Uint8Array(this.#buffer, filled, length - filled));
      this.#buffer = value!.buffer;
      // An empty piece: the stream has ended.
      if (value!.length === 0) throw new Error();
      filled += value!.length;
      this.at += value!.length;
    }
    return new Uint8Array(this.#buffer, 0, length);
  }
}

class BlobRange implements RangeReader {
  readonly #turn: Turn | undefined;
  #slice: ArrayBuffer | undefined;
  #most = Number.POSITIVE_INFINITY;

  constructor(
    private readonly blob: Blob,
    private at: number,
    private readonly finish: number,
    private readonly stream: FileStream | undefined,
  ) {
    this.#turn = stream?.turn();
  }

  async next(): Promise<Uint8Array<ArrayBuffer>> {
    this.#free();
    await this.#turn?.begins;
    const length = this.finish - this.at;
    const piece = (await this.stream?.piece(this.at, length)) ?? (await this.#sliced(length));
    this.at += piece.length;
    return piece;
  }

  end(): void {
    this.#turn?.end();
    this.#free();
  }

  #free(): void {
    if (this.#slice) release(this.#slice);
    this.#slice = undefined;
  }

  async #sliced(most: number): Promise<Uint8Array<ArrayBuffer>> {
    const length = Math.min(most, this.#most);
    try {
      this.#slice = await this.blob.slice(this.at, this.at + length).arrayBuffer();
      return new Uint8Array(this.#slice);
    } catch (thrown) {
      if (length <= LEAST || !TOO_LARGE.includes((thrown as Error).name)) throw thrown;
      this.#most = Math.max(Math.floor(length / 2), LEAST);
      return this.#sliced(length);
    }
  }
}

export class BlobFile implements RangedSource {
  readonly size: number;
  #usesStreams: boolean;
  #stream: FileStream | undefined;
  /** The end of the range that was begun last. */
  #end = Number.POSITIVE_INFINITY;

  /** `usesStreams` is for jobs in a row: ranges that follow each other are read by a stream, until a stream fails. */
  constructor(
    private readonly blob: Blob,
    usesStreams: boolean,
  ) {
    this.size = blob.size;
    this.#usesStreams = usesStreams;
  }

  begin(offset: number, length: number): RangeReader {
    const gap = offset - this.#end;
    // If one stream stands still, the next one may, too, and each job would wait.
    if (this.#stream?.isBroken) this.#usesStreams = false;
    const follows = this.#usesStreams && gap >= 0 && gap <= GAP;
    if (!follows) this.close();
    else this.#stream ??= new FileStream(this.blob, offset);
    this.#end = offset + length;
    return new BlobRange(this.blob, offset, this.#end, this.#stream);
  }

  close(): void {
    this.#stream?.cancel();
    this.#stream = undefined;
  }
}
