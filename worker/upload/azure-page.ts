// An Azure page blob: made with its size, all zeros; then pages at any place. Put Blob, Put Page.

import { DecantError } from '../errors.js';
import type { Network, Target, TargetPlan } from '../types.js';
import { type Blob, MARK } from './azure.js';
import { Flight } from './flight.js';
import { refusedSize } from './target.js';

const PAGE = 512;
/** The most that a request may write, in bytes. */
const MOST = 4 << 20;
const AT_ONCE = 8;
/** Azure Blob Storage, "Scalability and performance targets". */
const LARGEST = 8 * 2 ** 40;
const CONFLICT = 409;

export class PageBlob implements Target {
  readonly ordered = true;
  readonly #flight = new Flight(AT_ONCE);
  readonly #mark = crypto.randomUUID();
  /** Whether the blob is ours to remove. */
  #isMade = false;
  /** What was written last and is not sent yet, without a gap. */
  #run = { offset: 0, pieces: [] as Uint8Array[], length: 0 };

  constructor(private readonly blob: Blob) {}

  get network(): Network {
    return this.blob.requests.network;
  }

  async open({ outputSize }: TargetPlan): Promise<void> {
    if (outputSize === undefined || outputSize % PAGE !== 0) {
      const which =
        "whose size is known before and is a whole number of 512 bytes, as a fixed VHD ('vpc') or a raw disk";
      throw new DecantError('sink', `A page blob takes an output ${which}; choose another format, or a block blob`);
    }
    if (outputSize > LARGEST) throw refusedSize(`A page blob has at most ${LARGEST} bytes, not ${outputSize}`);
    await this.blob.requests.retrying(() => this.#make(outputSize));
    this.#isMade = true;
  }

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    const { offset: start, length } = this.#run;
    if (start + length !== offset || length + bytes.length > MOST) await this.#send();
    if (this.#run.length === 0) this.#run.offset = offset;
    this.#run.pieces.push(bytes);
    this.#run.length += bytes.length;
  }

  /** Never sent: what was not written is zeros. */
  async hole(): Promise<void> {}

  async close(): Promise<void> {
    await this.#flight.all();
    // The end of the output, with the footer of a VHD: last, so that nothing else is a whole VHD.
    await this.#send();
    await this.#flight.all();
  }

  async abort(): Promise<void> {
    await this.blob.requests.end(this.#isMade ? this.blob.call('DELETE', {}, {}) : undefined);
  }

  /** Makes the blob, if there is none: one that is there would be emptied at once. */
  async #make(size: number): Promise<void> {
    const own = {
      'x-ms-blob-type': 'PageBlob',
      'x-ms-blob-content-length': String(size),
      'If-None-Match': '*',
      [MARK]: this.#mark,
    };
    const { requests } = this.blob;
    const { status } = await requests.once(this.blob.call('PUT', {}, own), [201, CONFLICT]);
    if (status !== CONFLICT) return;
    // An attempt before may have made it, and its answer was lost.
    const { headers } = await requests.once(this.blob.call('HEAD', {}, {}), [200]);
    if (headers.get(MARK) === this.#mark) return;
    throw new Error('there is a blob of this name already; remove it, or choose another name');
  }

  /** Sends the run that has gathered. */
  async #send(): Promise<void> {
    const { offset, pieces, length } = this.#run;
    if (length === 0) return;
    this.#run = { offset: 0, pieces: [], length: 0 };
    await this.#flight.begin(async () => {
      const bytes = joined(pieces, length);
      const range = `bytes=${offset}-${offset + length - 1}`;
      const call = await this.blob.callWith(
        bytes,
        { comp: 'page' },
        { 'x-ms-page-write': 'update', 'x-ms-range': range },
      );
      await this.blob.requests.send(call, [201]);
    });
  }
}

function joined(pieces: Uint8Array[], length: number): Uint8Array {
  const [first] = pieces;
  if (first && pieces.length === 1) return first;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
