// A large file of a server that sends only whole files.

import type { Retries } from '../http/retries.js';
import type { Network, Source } from '../public/types.js';
import { openStream } from './open-stream.js';
import type { OpenedSource } from './opened-source.js';

export interface SequentialBody {
  /** The size in bytes, if the server states it. */
  readonly length: number | undefined;
  /** Resolves to the bytes after the first `received`; undefined at the end. */
  next(received: number): Promise<Uint8Array | undefined>;
  cancel(): void;
}

/** A file that arrives in order. `open` reads its stream; `read` always fails. */
export class SequentialFile implements Source {
  readonly stream: ReadableStream<Uint8Array>;
  /** The size in bytes, if the server states it. */
  readonly length: number | undefined;
  #received = 0;

  constructor(
    body: SequentialBody,
    private readonly retries: Retries,
    readonly name: string,
    readonly shown: string,
    readonly unnoticed: string | undefined,
  ) {
    this.length = body.length;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      const bytes = await body.next(this.#received);
      if (!bytes) return controller.close();
      this.#received += bytes.length;
      retries.received(bytes.length);
      controller.enqueue(bytes);
    };
    this.stream = new ReadableStream({ pull, cancel: () => body.cancel() }, { highWaterMark: 0 });
  }

  get network(): Network {
    return { received: this.#received, sent: 0, ...this.retries.network };
  }

  get size(): number {
    return this.length ?? 0;
  }

  async read(): Promise<Uint8Array> {
    throw new Error(`${this.shown} can be read only once, in order, by 'open'`);
  }
}

/** Opens the stream of `file`. Throws `usage` if it was opened before. */
export function openSequential(file: SequentialFile): OpenedSource {
  const { unnoticed, name } = file;
  return { ...openStream(file.stream, file), name, ...(unnoticed === undefined ? {} : { unnoticed }) };
}
