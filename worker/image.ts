// An opened image: the API's main object.

import { convertImage } from './convert.js';
import { cancelled, DecantError, orCancelled, toDecantError } from './errors.js';
import type { CrateExtent, ImageSpec } from './inside/coordinator.js';
import { Lock } from './lock.js';
import { checkObject, checkOpening } from './options.js';
import type { Platform } from './platform/platform.js';
import { Sources } from './sources.js';
import { acquireReader, type Team } from './team.js';
import type {
  ConvertOptions,
  Extent,
  Info,
  MapOptions,
  OpenOptions,
  Output,
  Result,
  Source,
  UnlockOptions,
} from './types.js';

/** An image as a reader has it. */
interface Reading {
  reader: Team;
  image: number;
}

/** Opens `source`, recognises its format and reads its headers. */
export async function openImage(platform: Platform, source: Source, options: OpenOptions = {}): Promise<Image> {
  let sources: Sources | undefined;
  try {
    checkOpening(options);
    const { signal, format, snapshot, salvage = false } = options;
    if (signal?.aborted) throw cancelled();
    sources = await Sources.open(platform, source, options.companions ?? []);
    const name = options.name ?? sources.image.name;
    const { companions } = sources;
    const spec: ImageSpec = { source: sources.image.spec, format, name, companions, snapshot, salvage };
    const { reading, info, extras } = await beginReading(platform, spec, signal);
    const lock = new Lock(platform, options);
    return new Image(platform, sources, spec, lock, extras, reading, {
      ...info,
      ...(name === undefined ? {} : { name }),
    });
  } catch (thrown) {
    await sources?.close();
    throw toDecantError(thrown);
  }
}

async function beginReading(platform: Platform, spec: ImageSpec, signal?: AbortSignal) {
  // Keys are understood by the build that can use them.
  const reader = acquireReader(platform, spec.keys !== undefined);
  try {
    await orCancelled(signal, reader.ready);
    const answer = reader.coordinator.call('open', spec);
    try {
      const { image, info, extras } = await orCancelled(signal, answer);
      return { reading: { reader, image }, info, extras };
    } catch (thrown) {
      // Cancelled meanwhile: what is opened after all is closed again.
      answer.then(({ image }) => reader.coordinator.call('close', image)).catch(() => {});
      throw thrown;
    }
  } catch (thrown) {
    const error = toDecantError(thrown);
    reader.release(error.kind !== 'internal');
    throw error;
  }
}

export class Image {
  #closing = new AbortController();
  /** Conversions and maps under way: the image stays open until they have ended. */
  #uses = new Set<Promise<unknown>>();

  /** Made by `open` only. */
  constructor(
    private readonly platform: Platform,
    private readonly sources: Sources,
    private readonly spec: ImageSpec,
    private readonly lock: Lock,
    private readonly extras: boolean,
    private reading: Reading,
    readonly info: Info,
  ) {}

  /**
   * Finds the keys of an encrypted image now, instead of when they are first needed. Does nothing
   * where there is nothing to unlock, or no password.
   */
  async unlock(options: UnlockOptions = {}): Promise<void> {
    this.#requireOpen();
    const signal = this.#until(options.signal);
    if (this.#isLocked) await this.#use(this.#unlock(signal, options.onProgress ?? (() => {})));
  }

  /** Lists what lies where on the disk, in order and without gaps. Every call is a pass of its own. */
  async *map(options: MapOptions = {}): AsyncGenerator<Extent, void, void> {
    this.#requireOpen();
    const signal = this.#until(options.signal);
    await this.unlock({ signal });
    if (!this.reading.reader.coordinator.alive) await this.#reopen();
    const { coordinator } = this.reading.reader;
    const map = await this.#use(coordinator.call('map', this.reading.image));
    try {
      for (;;) {
        this.#requireOpen();
        const extents = await orCancelled(signal, this.#use(coordinator.call('nextExtents', map)));
        if (!extents) return;
        for (const extent of extents) yield this.#named(extent);
      }
    } finally {
      await coordinator.call('endMap', map).catch(() => {});
    }
  }

  /** Writes the disk to `output`. Nothing that looks complete is left where it rejects. */
  async convert(output: Output, options: ConvertOptions = {}): Promise<Result> {
    this.#requireOpen();
    checkObject('options', options);
    const { platform, sources, info } = this;
    const signal = this.#until(options.signal);
    const ready = async (signal: AbortSignal, report: (share: number) => void): Promise<ImageSpec> => {
      if (this.#isLocked) await this.#unlock(signal, report);
      return { ...this.spec, keys: this.lock.keys };
    };
    const work = { platform, sources, ready, extras: this.extras, info };
    return this.#use(convertImage(work, output, { ...options, signal }));
  }

  /** Ends what is under way with this image and frees what it holds. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await Promise.allSettled(this.#uses);
    this.lock.wipe();
    await this.#endReading();
    await this.sources.close();
  }

  /** Whether there is something to unlock, and something to do it with. A missing file is told first. */
  get #isLocked(): boolean {
    const { needs } = this.info;
    return this.lock.isClosed && needs.length > 0 && needs.every(({ kind }) => kind === 'password');
  }

  /** Finds the keys; from then on the image is read with them. */
  async #unlock(signal: AbortSignal, report: (share: number) => void): Promise<void> {
    await this.lock.open(this.spec, signal, report);
    await this.#reopen();
  }

  /** Another reader reads on: with keys, or since the first one has died, over another image perhaps. */
  async #reopen(): Promise<void> {
    const { reading, info } = await beginReading(this.platform, { ...this.spec, keys: this.lock.keys });
    await this.#endReading();
    this.reading = reading;
    this.info.needs = info.needs;
  }

  async #endReading(): Promise<void> {
    const { reader, image } = this.reading;
    await reader.coordinator.call('close', image).catch(() => {});
    reader.release(true);
  }

  #named({ file, ...extent }: CrateExtent): Extent {
    if (file === undefined) return extent;
    const name = file === 0 ? this.info.name : this.spec.companions[file - 1]!.name;
    return name === undefined ? extent : { ...extent, file: name };
  }

  /** Aborted by `signal`, and when the image is closed. */
  #until(signal: AbortSignal | undefined): AbortSignal {
    const closing = this.#closing.signal;
    return signal ? AbortSignal.any([signal, closing]) : closing;
  }

  async #use<T>(work: Promise<T>): Promise<T> {
    this.#uses.add(work);
    try {
      return await work;
    } finally {
      this.#uses.delete(work);
    }
  }

  #requireOpen(): void {
    if (this.#closing.signal.aborted) throw new DecantError('usage', 'The image was closed');
  }
}
