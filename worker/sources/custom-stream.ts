// Sources that are read once, in order: a stream, and a large file of a server that sends only whole files.

import { cancelled, DecantError, orCancelled, reasonOf } from '../errors/errors.js';
import { nextTask } from '../errors/signals.js';
import { isOf } from '../errors/values.js';
import type { Retries } from '../http/retries.js';
import type { Network, Source } from '../public/types.js';
import { sourceError, unreadable } from './source-errors.js';

/** A server that sends only whole files. */
export interface RemoteStream {
  /** The name of the file in messages. */
  readonly shown: string;
  readonly network: Network;
}

export class StreamReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  /** Received bytes that have not been requested yet. */
  #rest = new Uint8Array(0);
  #position = 0;
  #reading = false;

  /** Locks `stream`. Throws `usage` if it is locked already. */
  constructor(
    stream: ReadableStream<Uint8Array>,
    /** The server that sends the stream, if there is one. */
    readonly remote?: RemoteStream,
  ) {
    try {
      this.#reader = stream.getReader();
    } catch (cause) {
      throw new DecantError('usage', `The stream cannot be read: ${reasonOf(cause)}`, { cause });
    }
  }

  /**
   * Resolves to the next `length` bytes, or to the rest if fewer are left. `offset` must be the current position. Fails with
   * `source` if the stream fails, and with `usage` for bytes that were read before.
   */
  async read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    if (offset !== this.#position || this.#reading) {
      throw new DecantError('usage', 'The stream was read already; open the image again');
    }
    this.#reading = true;
    const bytes = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      if (this.#rest.length === 0) {
        const chunk = await this.#next(signal);
        if (!chunk) break;
        // A stream of empty chunks must not block all else.
        if (chunk.length === 0) await nextTask();
        this.#rest = chunk;
        continue;
      }
      const part = this.#rest.subarray(0, length - filled);
      bytes.set(part, filled);
      filled += part.length;
      this.#rest = this.#rest.subarray(part.length);
    }
    this.#position += filled;
    // Not reset after a failure or a cancel: bytes were lost, so later reads must fail.
    this.#reading = false;
    return filled === length ? bytes : bytes.slice(0, filled);
  }

  /** Cancels the rest of the stream. */
  async close(): Promise<void> {
    // Nothing can be done about a stream that cannot be cancelled.
    this.#reader.cancel().catch(() => {});
  }

  async #next(signal: AbortSignal): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (signal.aborted) throw cancelled();
    let result: ReadableStreamReadResult<unknown>;
    try {
      result = await orCancelled(signal, this.#reader.read());
    } catch (given) {
      if (signal.aborted) throw cancelled();
      throw sourceError(given);
    }
    if (result.done) return undefined;
    if (isOf<Uint8Array<ArrayBuffer>>(result.value, 'Uint8Array')) return result.value;
    throw unreadable('its stream returned a chunk that is not a Uint8Array');
  }
}

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
