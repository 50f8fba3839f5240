// An Azure block blob: blocks in any order, then a list of them all. Put Block, Put Block List.

import type { TargetPlan } from '../public/types.js';
import { requireAllParts, tooLarge, type UploadProtocol } from './ascending-target.js';
import type { AzureBlob } from './azure-blob.js';
import { InFlight } from './in-flight.js';
import { Md5, md5 } from './md5.js';
import type { PartSize, UploadPart } from './part-cutter.js';
import { CompletionTracker, lateCompletion, requireAbsent } from './uncertain-completion.js';
import type { UploadRequests } from './upload-requests.js';

const AT_ONCE = 4;
const MAX_BLOCKS = 50_000;
const SMALLEST = 8 << 20;
/** Blocks are held in memory while they are sent. */
const LARGEST = 128 << 20;
/** For an unknown size, blocks double after this many: 4.2 TiB fit. */
const DOUBLING = 5_000;
/** Compressed data may be this much larger than the disk. */
const OVERHEAD = 1.01;

export class BlockBlob implements UploadProtocol {
  readonly digest = new Md5();
  readonly lateStart = SMALLEST;
  readonly #flight = new InFlight(AT_ONCE);
  /** Distinguishes the blocks from those of other uploads. */
  readonly #idPrefix = crypto.randomUUID();
  readonly #blocks: string[] = [];
  readonly #startedAt = performance.now();
  readonly completing = new CompletionTracker();
  /** The size of the output so far, in bytes. */
  #size = 0;
  sizeOf: PartSize | undefined;

  constructor(private readonly blob: AzureBlob) {}

  get requests(): UploadRequests {
    return this.blob.requests;
  }

  async begin({ outputSize, virtualSize }: TargetPlan): Promise<number> {
    const most = outputSize ?? (virtualSize ?? 0) * OVERHEAD;
    const needed = Math.ceil(most / MAX_BLOCKS / SMALLEST) * SMALLEST;
    if (needed > LARGEST) throw tooLarge(`A block blob can have at most ${LARGEST * MAX_BLOCKS} bytes`);
    const size = Math.max(SMALLEST, needed);
    if (outputSize === undefined)
      this.sizeOf = (number) => Math.min(LARGEST, size * 2 ** Math.floor(number / DOUBLING));
    return size;
  }

  async part({ number, offset, size, body }: UploadPart): Promise<void> {
    this.#size = Math.max(this.#size, offset + size);
    // An empty output has an empty list.
    if (size === 0) return;
    if (number >= MAX_BLOCKS)
      throw tooLarge(`A block blob can have at most ${MAX_BLOCKS} blocks, here ${offset} bytes`);
    const blockid = btoa(`${this.#idPrefix}-${String(number).padStart(5, '0')}`);
    this.#blocks[number] = blockid;
    const call = this.blob.callWithDigest(body, await this.digest.take(), { comp: 'block', blockid }, {});
    await this.#flight.start(async () => {
      await this.requests.send(call, [201]);
    });
  }

  async complete(): Promise<string | undefined> {
    await this.#flight.finish();
    requireAllParts(this.#blocks);
    // "Latest" also finds blocks that an earlier attempt, whose response was lost, has committed.
    const ids = this.#blocks.map((id) => `<Latest>${id}</Latest>`).join('');
    const body = new TextEncoder().encode(`<?xml version="1.0" encoding="utf-8"?><BlockList>${ids}</BlockList>`);
    const own = { 'x-ms-blob-content-type': 'application/octet-stream' };
    // A list that was changed on the way could name other blocks.
    const list = this.blob.callWithDigest(body, await md5(body), { comp: 'blocklist' }, own);
    return this.requests.retrying(async () => {
      try {
        const { headers } = await this.completing.track(() => this.requests.once(list, [201]));
        return await this.blob.confirm({ size: this.#size, etag: headers.get('ETag') });
      } catch (thrown) {
        if (lateCompletion(thrown) === undefined || !(await this.#isCommitted())) throw thrown;
        return await this.blob.confirm({ size: this.#size });
      }
    });
  }

  /** Whether the blob has all blocks of this upload, after the response was lost: all further responses may be lost, too. */
  async #isCommitted(): Promise<boolean> {
    const call = this.blob.call('GET', { comp: 'blocklist', blocklisttype: 'committed' }, {});
    const answer = await this.requests.once(call, [200]).catch(() => undefined);
    const has = (id: string) => answer?.text.includes(`<Name>${id}</Name>`) === true;
    return this.#blocks.length > 0 && this.#blocks.every(has);
  }

  /** Azure deletes uncommitted blocks after a week. */
  async abort(): Promise<void> {
    if (!this.completing.mayBeDone) return;
    const own = { size: this.#size, since: this.#startedAt, completing: this.completing };
    await requireAbsent(this.requests, this.blob.call('HEAD', {}, {}), own);
  }
}
