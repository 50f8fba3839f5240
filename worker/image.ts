// An opened image: the API's main object.

import { convertImage } from './convert.js';
import { cancelled, DecantError, orCancelled, toDecantError } from './errors.js';
import type { ImageSpec } from './inside/coordinator.js';
import type { OpenedSource, Platform } from './platform/platform.js';
import { acquire, type Team } from './team.js';
import type { ConvertOptions, Extent, Info, OpenOptions, Output, Result, Source } from './types.js';

/** An image as a reader has it. */
interface Reading {
  reader: Team;
  image: number;
}

/** Opens `source`, recognises its format and reads its headers. */
export async function openImage(platform: Platform, source: Source, options: OpenOptions = {}): Promise<Image> {
  const { signal } = options;
  let opened: OpenedSource | undefined;
  try {
    if (signal?.aborted) throw cancelled();
    opened = await platform.openSource(source);
    const name = options.name ?? opened.name;
    const spec: ImageSpec = { source: opened.spec, format: options.format, name };
    const { reading, info } = await beginReading(platform, spec, signal);
    return new Image(platform, opened, spec, reading, { ...info, ...(name === undefined ? {} : { name }), needs: [] });
  } catch (thrown) {
    await opened?.close();
    throw toDecantError(thrown);
  }
}

async function beginReading(platform: Platform, spec: ImageSpec, signal?: AbortSignal) {
  const reader = acquire(platform, 'workers', 0);
  try {
    await orCancelled(signal, reader.ready);
    const answer = reader.coordinator.call('open', spec);
    try {
      const { image, info } = await orCancelled(signal, answer);
      return { reading: { reader, image }, info };
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
    private readonly source: OpenedSource,
    private readonly spec: ImageSpec,
    private reading: Reading,
    readonly info: Info,
  ) {}

  /** Lists what lies where on the disk, in order and without gaps. Every call is a pass of its own. */
  async *map(): AsyncGenerator<Extent, void, void> {
    this.#requireOpen();
    if (!this.reading.reader.coordinator.alive) await this.#reopen();
    const { coordinator } = this.reading.reader;
    const map = await this.#use(coordinator.call('map', this.reading.image));
    try {
      for (;;) {
        this.#requireOpen();
        const extents = await this.#use(coordinator.call('nextExtents', map));
        if (!extents) return;
        yield* extents;
      }
    } finally {
      await coordinator.call('endMap', map).catch(() => {});
    }
  }

  /** Writes the disk to `output`. Nothing that looks complete is left where it rejects. */
  async convert(output: Output, options: ConvertOptions = {}): Promise<Result> {
    this.#requireOpen();
    const { platform, source, spec: image } = this;
    const closing = this.#closing.signal;
    const signal = options.signal ? AbortSignal.any([options.signal, closing]) : closing;
    const work = { platform, source, image, virtualSize: this.info.virtualSize };
    return this.#use(convertImage(work, output, { ...options, signal }));
  }

  /** Ends what is under way with this image and frees what it holds. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await Promise.allSettled(this.#uses);
    await this.reading.reader.coordinator.call('close', this.reading.image).catch(() => {});
    this.reading.reader.release(true);
    await this.source.close();
  }

  /** The reader has died, over another image perhaps: the next one reads on. */
  async #reopen(): Promise<void> {
    const dead = this.reading.reader;
    const { reading } = await beginReading(this.platform, this.spec);
    this.reading = reading;
    dead.release(true);
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
