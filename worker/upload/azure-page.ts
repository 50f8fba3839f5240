// An Azure page blob: made with its size, all zeros; then pages at any place. Put Blob, Put Page.

import { DecantError } from '../errors.js';
import type { Network, Target, TargetPlan } from '../types.js';
import { type Blob, MARK } from './azure.js';
import { Gathering } from './body.js';
import { Flight } from './flight.js';
import { Digest } from './md5.js';
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
  #run = { offset: 0, gathering: new Gathering(MOST), digest: new Digest() };

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
    for (let at = 0; at < bytes.length; at += MOST) await this.#add(offset + at, bytes.subarray(at, at + MOST));
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

  async #add(offset: number, bytes: Uint8Array): Promise<void> {
    const { offset: start, gathering } = this.#run;
    if (start + gathering.length !== offset || gathering.length + bytes.length > MOST) await this.#send();
    if (this.#run.gathering.length === 0) this.#run.offset = offset;
    this.#run.gathering.add(bytes);
    await this.#run.digest.add(bytes);
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
    const { offset, gathering, digest } = this.#run;
    const { length } = gathering;
    if (length === 0) return;
    this.#run = { offset: 0, gathering: new Gathering(MOST), digest: new Digest() };
    const own = { 'x-ms-page-write': 'update', 'x-ms-range': `bytes=${offset}-${offset + length - 1}` };
    const call = this.blob.callWith(gathering.end(), await digest.take(), { comp: 'page' }, own);
    await this.#flight.begin(async () => {
      await this.blob.requests.send(call, [201]);
    });
  }
}
