// An upload to the server, as a target of decant: it sends the disk in parts, except for parts without data.

import { begin, complete, remove, sendPart } from './server.js';

/** The maximum number of parts in flight, each held in memory. */
const AT_ONCE = 4;

/** Calls `onSent` with the number of bytes that have arrived. */
export class Upload {
  /** Requests ascending writes, so that only one part is being filled. */
  ascending = true;

  #name;
  #onSent;
  #beginning;
  #import;
  #size = 0;
  /** The part being filled: its number and its bytes. */
  #part;
  #parts = 0;
  #sent = 0;
  #sending = new Set();
  #failure;
  #ended = new AbortController();

  constructor(name, onSent) {
    this.#name = name;
    this.#onSent = onSent;
  }

  async open({ outputSize }) {
    this.#size = outputSize;
    this.#beginning = begin(this.#name, outputSize);
    this.#import = await this.#beginning;
  }

  async write(offset, bytes) {
    const { partSize } = this.#import;
    for (let at = 0; at < bytes.length; ) {
      const number = Math.floor((offset + at) / partSize);
      if (this.#part?.number !== number) await this.#next(number);
      const place = offset + at - number * partSize;
      const piece = bytes.subarray(at, at + this.#part.bytes.length - place);
      this.#part.bytes.set(piece, place);
      at += piece.length;
    }
  }

  /** Part buffers start as zeros, so a hole needs no write; a part without data is never sent. */
  async hole() {}

  async close() {
    await this.#next(undefined);
    await Promise.all(this.#sending);
    if (this.#failure) throw this.#failure;
    await complete(this.#import.id, this.#parts);
  }

  async abort() {
    this.#ended.abort();
    await Promise.allSettled(this.#sending);
    // The import may not exist, or not yet.
    const made = await this.#beginning?.catch(() => undefined);
    if (made) await remove(made.id);
  }

  /** Sends the current part, and starts part `number`. */
  async #next(number) {
    if (this.#part) {
      while (this.#sending.size >= AT_ONCE) await Promise.race(this.#sending);
      if (this.#failure) throw this.#failure;
      this.#send(this.#part);
    }
    const { partSize } = this.#import;
    const length = Math.min(partSize, this.#size - number * partSize);
    this.#part = number === undefined ? undefined : { number, bytes: new Uint8Array(length) };
  }

  /** Sends a part in the background. A failure rejects the next write, or `close`. */
  #send({ number, bytes }) {
    this.#parts += 1;
    const sending = sendPart(this.#import.id, number, bytes, this.#ended.signal)
      .then(() => {
        this.#sent += bytes.length;
        this.#onSent(this.#sent);
      })
      .catch((thrown) => {
        this.#failure ??= thrown;
      })
      .finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }
}
