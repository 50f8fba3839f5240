// An opened image: the API's main object.

import { cancelled, DecantError, toDecantError } from '../errors.js';
import type { CrateExtent } from '../inside/coordinator.js';
import { Sources } from '../sources/sources.js';
import { giveUp } from '../targets/own.js';
import type {
  ConvertOptions,
  Extent,
  Info,
  Input,
  MapOptions,
  OpenOptions,
  Output,
  OutputFormat,
  ReadableOptions,
  ReadOptions,
  Result,
  UnlockOptions,
} from '../types.js';
import { OpenedImage } from '../workers/opened-image.js';
import { Passwords } from '../workers/passwords.js';
import type { Opening, Session } from '../workers/session.js';
import { convertImage } from './convert.js';
import { listened } from './listened.js';
import { checkCall, checkOpening, settle } from './options.js';
import type { Platform } from './platform.js';
import { checkRange, readRange, streamOf } from './reading.js';

/** Opens `input`, recognises its format and reads its headers. */
export async function openImage(platform: Platform, input: Input, options: OpenOptions = {}): Promise<Image> {
  let sources: Sources | undefined;
  let passwords: Passwords | undefined;
  try {
    checkOpening(options);
    const settings = settle(options, platform);
    const { signal, format, snapshot, salvage = false } = options;
    if (signal?.aborted) throw cancelled();
    passwords = new Passwords(options);
    sources = await Sources.open(platform.openSource, input, options.companions ?? []);
    const name = options.name ?? sources.image.name;
    const opening: Opening = { starter: platform, sources, settings: { format, name, snapshot, salvage }, ...settings };
    const opened = await OpenedImage.open(opening, passwords, options.assumePassword ?? false, signal);
    return new Image(platform, opening, opened, name);
  } catch (thrown) {
    passwords?.wipe();
    await sources?.close();
    throw toDecantError(thrown);
  }
}

export class Image {
  #closing = new AbortController();
  #closed: Promise<void> | undefined;
  /** Conversions, maps, reads and unlockings under way: the image stays open until they have ended. */
  #uses = new Set<Promise<unknown>>();
  readonly info: Info;
  /** What the disk can be converted to, the default first, and why not where it cannot. */
  readonly outputs: OutputFormat[];

  /** Made by `open` only. */
  constructor(
    private readonly platform: Platform,
    private readonly opening: Opening,
    private readonly opened: OpenedImage,
    name: string | undefined,
  ) {
    this.info = { ...opened.info, ...(name === undefined ? {} : { name }) };
    this.outputs = opened.outputs;
  }

  /**
   * Starts what converts this image, so that a conversion begins at once. It need not be called; what is not used within 10
   * seconds ends again.
   */
  async prepare(): Promise<void> {
    this.#requireOpen();
    await this.#use(this.opened.prepare());
  }

  /**
   * Finds the keys of an encrypted image now, instead of when they are first needed. Does nothing
   * where there is nothing to unlock, or no password.
   */
  async unlock(options: UnlockOptions = {}): Promise<void> {
    this.#requireOpen();
    checkCall(options);
    const { onProgress = () => {} } = options;
    await listened(this.#until(options.signal), onProgress, async (signal, report) => {
      const session = await this.#acquire(signal, report);
      await session.release();
    });
  }

  /** Lists what lies where on the disk, in order and without gaps. Every call is a pass of its own. */
  async *map(options: MapOptions = {}): AsyncGenerator<Extent, void, void> {
    this.#requireOpen();
    checkCall(options);
    const signal = this.#until(options.signal);
    const session = await this.#acquire(signal);
    try {
      yield* this.#extents(session, signal);
    } finally {
      await session.release();
    }
  }

  /**
   * The `length` bytes of the disk from `offset` on, as the guest reads them. They are held in memory: for more than a few
   * MiB there is `readable`. Any number may be asked for at once. What is damaged is zeros where the image was opened with
   * `salvage`, and fails with `corrupt` otherwise; a range that does not lie on the disk is `usage`.
   */
  async read(offset: number, length: number, options: ReadOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    this.#requireOpen();
    checkCall(options);
    const { virtualSize } = this.info;
    // Without a size it is refused where it is read.
    if (virtualSize !== undefined) checkRange(offset, offset + length, virtualSize);
    if (length === 0) return new Uint8Array(0);
    return this.#read(offset, length, this.#until(options.signal));
  }

  /**
   * The bytes of the disk from `start` (0) to before `end` (the virtual size), in pieces of at most 4 MiB, as fast as they
   * are taken. It fails as `read` does; when it is cancelled, nothing is read any more.
   */
  readable(options: ReadableOptions = {}): ReadableStream<Uint8Array<ArrayBuffer>> {
    this.#requireOpen();
    checkCall(options);
    // Without a size it is refused when it is read.
    const { virtualSize = Number.MAX_SAFE_INTEGER } = this.info;
    const { start = 0, end = virtualSize, signal } = options;
    checkRange(start, end, virtualSize);
    const read = (offset: number, length: number, signal: AbortSignal) =>
      this.#read(offset, length, this.#until(signal));
    return streamOf(start, end, read, signal);
  }

  /** Writes the disk to `output`. Nothing that looks complete is left where it rejects. */
  async convert(output: Output, options: ConvertOptions = {}): Promise<Result> {
    let signal: AbortSignal;
    try {
      this.#requireOpen();
      checkCall(options);
      signal = this.#until(options.signal);
    } catch (thrown) {
      giveUp(output, toDecantError(thrown));
      throw thrown;
    }
    const { opening, opened, info, outputs } = this;
    const conversion = { platform: this.platform, opening, opened, info, outputs };
    return this.#use(convertImage(conversion, output, { ...options, signal }));
  }

  /** Ends what is under way with this image and frees what it holds. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    this.opened.cancelReads();
    await Promise.allSettled(this.#uses);
    await this.opened.close();
    await this.opening.sources.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #acquire(signal: AbortSignal, report?: (share: number) => void): Promise<Session> {
    try {
      return await this.#use(this.opened.acquire(signal, report));
    } finally {
      this.info.needs = this.opened.info.needs;
    }
  }

  async #read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    const session = await this.#acquire(signal);
    try {
      return await this.#use(readRange(session, offset, length, signal));
    } finally {
      await session.release();
    }
  }

  async *#extents(session: Session, signal: AbortSignal): AsyncGenerator<Extent, void, void> {
    const { client, image } = session;
    const map = await this.#use(client.call('map', image));
    try {
      for (;;) {
        const next = session.run(signal, (operation) => client.call('nextExtents', operation, map));
        const extents = await this.#use(next);
        if (!extents) return;
        for (const extent of extents) yield this.#named(extent);
      }
    } finally {
      // Not waited for: an image that is closed lets its workers go. One that is dead holds no map any more.
      client.call('endMap', map).catch(() => {});
    }
  }

  #named({ file, ...extent }: CrateExtent): Extent {
    if (file === undefined) return extent;
    const name = file === 0 ? this.info.name : this.opening.sources.companions[file - 1]!.name;
    return name === undefined ? extent : { ...extent, file: name };
  }

  /** Aborted by `signal`, and when the image is closed. A signal of its own: Node warns where many listen to one. */
  #until(signal: AbortSignal | undefined): AbortSignal {
    const closing = this.#closing.signal;
    return AbortSignal.any(signal ? [signal, closing] : [closing]);
  }

  async #use<T>(work: Promise<T>): Promise<T> {
    this.#uses.add(work);
    try {
      return await work;
    } catch (thrown) {
      const isClosed = this.#closing.signal.aborted && toDecantError(thrown).kind === 'cancelled';
      throw isClosed ? new DecantError('cancelled', 'The image was closed') : thrown;
    } finally {
      this.#uses.delete(work);
    }
  }

  #requireOpen(): void {
    if (this.#closing.signal.aborted) throw new DecantError('usage', 'The image was closed');
  }
}
