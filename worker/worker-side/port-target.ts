// A custom target inside a coordinator: sends the output to the calling side in pieces.

import { Instance } from 'decant-module';
import { DecantError } from '../errors/errors.js';
import { hexOf } from '../errors/values.js';
import { type Digested, PIECE, type Piece, type PortSpec, type Taken } from '../messages/messages.js';
import { Sha256 } from '../targets/sha256-hasher.js';
import type { ObjectTarget } from './worker-host.js';

export class PortTarget implements ObjectTarget {
  readonly ascending: boolean;
  readonly lateStart: number;
  readonly holes: 'reported' | 'filled';
  readonly #port: MessagePort;
  readonly #most: number;
  /** The next piece, if pieces are contiguous: its first `filled` bytes are part of the output. */
  #making: { offset: number; bytes: Uint8Array<ArrayBuffer>; filled: number } | undefined;
  /** Digests the output while its pieces follow each other, up to `#digested`. */
  #digest: Sha256 | undefined;
  #digested = 0;
  #inFlight = 0;
  #failed = false;
  /** Callbacks that wait until fewer pieces are in flight. */
  #waiting: (() => void)[] = [];

  constructor({ port, ascending, lateStart, holes, pieces, crypt }: PortSpec) {
    this.ascending = ascending;
    this.lateStart = lateStart;
    this.holes = holes ? 'reported' : 'filled';
    this.#most = pieces;
    const instance = crypt && Instance.create('crypt', crypt);
    if (instance) this.#digest = new Sha256(instance);
    this.#port = port;
    port.onmessage = ({ data }) => this.#taken(data as Taken);
  }

  async open(): Promise<void> {}

  /** `bytes` must stay valid until the promise resolves. */
  async write(offset: number, bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      // Copied, since the buffer of a piece is transferred.
      at += await this.#add(offset + at, bytes.length - at, (piece, from, length) =>
        piece.set(bytes.subarray(at, at + length), from),
      );
    }
  }

  async hole(offset: number, length: number): Promise<void> {
    if (this.holes === 'reported') {
      await this.#send({ offset, length }, []);
      return;
    }
    for (let at = 0; at < length; ) at += await this.#add(offset + at, length - at, () => {});
  }

  async settle(): Promise<void> {
    await this.#sendMaking();
    while (this.#isWaiting(0)) await this.#change();
  }

  async close(): Promise<void> {
    await this.settle();
    if (this.#digest) await this.#send({ sha256: hexOf(this.#digest.end()) }, []);
    while (this.#isWaiting(0)) await this.#change();
    this.#port.close();
  }

  async abort(): Promise<void> {
    this.#failed = true;
    this.#port.close();
    this.#wake();
  }

  /** Adds up to `most` bytes, which `fill` writes into a piece of zeros. Resolves to the number of added bytes. */
  async #add(
    offset: number,
    most: number,
    fill: (piece: Uint8Array, from: number, length: number) => void,
  ): Promise<number> {
    // Pieces are joined only if the output is contiguous and ascending.
    if (!this.ascending || this.holes === 'reported') {
      const length = Math.min(most, PIECE);
      const bytes = new Uint8Array(length);
      fill(bytes, 0, length);
      await this.#send({ offset, bytes }, [bytes.buffer]);
      return length;
    }
    // The start of the output may come last.
    if (this.#making && this.#making.offset + this.#making.filled !== offset) await this.#sendMaking();
    this.#making ??= { offset, bytes: new Uint8Array(PIECE), filled: 0 };
    const { bytes, filled } = this.#making;
    const length = Math.min(most, PIECE - filled);
    fill(bytes, filled, length);
    this.#making.filled += length;
    if (this.#making.filled === PIECE) await this.#sendMaking();
    return length;
  }

  async #sendMaking(): Promise<void> {
    const making = this.#making;
    if (!making) return;
    this.#making = undefined;
    const bytes = making.filled === PIECE ? making.bytes : making.bytes.slice(0, making.filled);
    // The start of the output may come last, or be there already.
    if (making.offset !== this.#digested) this.#digest = undefined;
    this.#digest?.add(bytes);
    this.#digested += bytes.length;
    await this.#send({ offset: making.offset, bytes }, [bytes.buffer]);
  }

  /** Sends `piece` when there is room for another one in flight. */
  async #send(piece: Piece | Digested, moved: ArrayBuffer[]): Promise<void> {
    // Counted without an `await` in between: others wait for the same room.
    while (this.#isWaiting(this.#most - 1)) await this.#change();
    this.#inFlight += 1;
    this.#port.postMessage(piece, moved);
  }

  /** Whether more than `count` pieces are in flight. Throws if the target has failed. */
  #isWaiting(count: number): boolean {
    // The calling side knows the reason.
    if (this.#failed) throw new DecantError('target', 'Could not write the output: the target has failed');
    return this.#inFlight > count;
  }

  /** Resolves when fewer pieces are in flight or the target has failed. First come, first served. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #taken({ failed }: Taken): void {
    this.#inFlight -= 1;
    this.#failed ||= failed;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
