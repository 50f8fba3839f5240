// A stream of the caller's as the image: read on this side, once and in order.

import { isObject } from '../calls/values.js';
import { cancelled, DecantError, type DecantErrorOptions, orCancelled, reasonOf } from '../errors/errors.js';
import { madeOf } from '../http/failures.js';
import type { Network } from '../public/types.js';

/** Whether `value` is meant as a stream. */
export const isReadable = (value: unknown): value is ReadableStream<Uint8Array> =>
  isObject(value) && 'getReader' in value && typeof value.getReader === 'function';

const failed = (reason: string, options?: DecantErrorOptions): DecantError =>
  new DecantError('source', `Could not read the image: ${reason}`, options);

/** A server that sends only whole files. */
export interface RemoteStream {
  /** What messages call the file. */
  readonly shown: string;
  readonly network: Network;
}

export class StreamReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  /** What the stream has given and nobody has asked for yet. */
  #rest = new Uint8Array(0);
  #position = 0;
  #reading = false;

  /** Locks `stream`. Fails with `usage` where that was done before. */
  constructor(
    stream: ReadableStream<Uint8Array>,
    /** Where it comes from, if that is a server. */
    readonly remote?: RemoteStream,
  ) {
    try {
      this.#reader = stream.getReader();
    } catch (cause) {
      throw new DecantError('usage', `The stream cannot be read: ${reasonOf(cause)}`, { cause });
    }
  }

  /**
   * The next `length` bytes, from `offset` on, or as many as there are. Fails with `source` where the stream does, and with
   * `usage` where bytes are asked for that were read before.
   */
  async read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    if (offset !== this.#position || this.#reading) {
      throw new DecantError('usage', 'The stream was read already; open the image anew');
    }
    this.#reading = true;
    const bytes = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      if (this.#rest.length === 0) {
        const chunk = await this.#next(signal);
        if (!chunk) break;
        this.#rest = chunk;
        continue;
      }
      const part = this.#rest.subarray(0, length - filled);
      bytes.set(part, filled);
      filled += part.length;
      this.#rest = this.#rest.subarray(part.length);
    }
    this.#position += filled;
    // After a failure or a cancel bytes are lost: then it stays as it is.
    this.#reading = false;
    return filled === length ? bytes : bytes.slice(0, filled);
  }

  /** Gives up the rest of the stream. */
  async close(): Promise<void> {
    // One that fails to end is of no use to anybody any more.
    this.#reader.cancel().catch(() => {});
  }

  async #next(signal: AbortSignal): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (signal.aborted) throw cancelled();
    let result: ReadableStreamReadResult<unknown>;
    try {
      result = await orCancelled(signal, this.#reader.read());
    } catch (thrown) {
      if (signal.aborted) throw cancelled();
      throw failed(reasonOf(thrown), madeOf(thrown));
    }
    if (result.done) return undefined;
    // Also where it comes from another window or another realm of Node.
    const isBytes = Object.prototype.toString.call(result.value) === '[object Uint8Array]';
    if (!isBytes) throw failed('its stream gave something else than a Uint8Array');
    return result.value as Uint8Array<ArrayBuffer>;
  }
}
