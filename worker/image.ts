// An opened image: the API's main object.

import { convertImage } from './convert.js';
import { DecantError, orCancelled } from './errors.js';
import type { ImageSpec } from './inside/coordinator.js';
import type { OpenedSource, Platform } from './platform/platform.js';
import { acquire, type Team } from './team.js';
import type { ConvertOptions, Extent, Info, OpenOptions, Output, Result, Source } from './types.js';

/** Opens `source`, recognises its format and reads its headers. */
export async function openImage(platform: Platform, source: Source, options: OpenOptions = {}): Promise<Image> {
  const { signal } = options;
  const opened = await orCancelled(signal, platform.openSource(source));
  const name = options.name ?? opened.name;
  const spec: ImageSpec = { source: opened.spec, format: options.format, name };
  const reader = acquire(platform, 'workers', 0);
  try {
    await orCancelled(signal, reader.ready);
    const { image, info } = await orCancelled(signal, reader.coordinator.call('open', spec));
    return new Image(platform, opened, spec, reader, image, {
      ...info,
      ...(name === undefined ? {} : { name }),
      needs: [],
    });
  } catch (thrown) {
    reader.release(true);
    await opened.close();
    throw thrown;
  }
}

export class Image {
  #closed = false;

  /** Made by `open` only. */
  constructor(
    private readonly platform: Platform,
    private readonly source: OpenedSource,
    private readonly spec: ImageSpec,
    private readonly reader: Team,
    private readonly image: number,
    readonly info: Info,
  ) {}

  /** Lists what lies where on the disk, in order and without gaps. Every call is a pass of its own. */
  async *map(): AsyncGenerator<Extent, void, void> {
    this.#requireOpen();
    const { coordinator } = this.reader;
    const map = await coordinator.call('map', this.image);
    try {
      for (;;) {
        const extents = await coordinator.call('nextExtents', map);
        if (!extents) return;
        yield* extents;
      }
    } finally {
      await coordinator.call('endMap', map);
    }
  }

  /** Writes the disk to `output`. Nothing that looks complete is left where it rejects. */
  async convert(output: Output, options: ConvertOptions = {}): Promise<Result> {
    this.#requireOpen();
    return convertImage(this.platform, this.source, this.spec, this.info.virtualSize, output, options);
  }

  /** Frees what the image holds. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.reader.coordinator.call('close', this.image).catch(() => {});
    this.reader.release(true);
    await this.source.close();
  }

  #requireOpen(): void {
    if (this.#closed) throw new DecantError('usage', 'The image was closed');
  }
}
