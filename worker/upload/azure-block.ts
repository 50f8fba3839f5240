// An Azure block blob: blocks in any order, then a list of them all. Put Block, Put Block List.

import type { TargetPlan } from '../public/types.js';
import { tooLarge, type UploadProtocol } from './ascending-target.js';
import type { AzureBlob } from './azure-blob.js';
import { InFlight } from './in-flight.js';
import { Md5 } from './md5.js';
import type { PartSize, UploadPart } from './part-cutter.js';
import { CompletionTracker, requireAbsent } from './uncertain-completion.js';
import type { UploadRequests } from './upload-requests.js';

const AT_ONCE = 4;
const MAX_BLOCKS = 50_000;
const SMALLEST = 8 << 20;
/** One lies in memory while it is on its way. */
const LARGEST = 128 << 20;
/** Where the size is not known, blocks are twice as large after so many: 4.2 TiB have room. */
const DOUBLING = 5_000;
/** Compressed data may be as much larger than the disk. */
const OVERHEAD = 1.01;

export class BlockBlob implements UploadProtocol {
  readonly digest = new Md5();
  readonly #flight = new InFlight(AT_ONCE);
  /** Blocks of somebody else's upload have other names. */
  readonly #idPrefix = crypto.randomUUID();
  readonly #blocks: string[] = [];
  readonly #startedAt = performance.now();
  readonly #completion = new CompletionTracker();
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
    if (needed > LARGEST) throw tooLarge(`A block blob takes at most ${LARGEST * MAX_BLOCKS} bytes here`);
    const size = Math.max(SMALLEST, needed);
    if (outputSize === undefined)
      this.sizeOf = (number) => Math.min(LARGEST, size * 2 ** Math.floor(number / DOUBLING));
    return size;
  }

  async part({ number, offset, size, body }: UploadPart): Promise<void> {
    this.#size = offset + size;
    // Of an empty output the list is empty.
    if (size === 0) return;
    if (number >= MAX_BLOCKS) throw tooLarge(`A block blob takes at most ${MAX_BLOCKS} blocks: ${offset} bytes here`);
    const blockid = btoa(`${this.#idPrefix}-${String(number).padStart(5, '0')}`);
    this.#blocks.push(blockid);
    const call = this.blob.callWithDigest(body, await this.digest.take(), { comp: 'block', blockid }, {});
    await this.#flight.start(async () => {
      await this.requests.send(call, [201]);
    });
  }

  async complete(): Promise<string | undefined> {
    await this.#flight.finish();
    // "Latest" finds them also where an attempt before has listed them, and its answer was lost.
    const ids = this.#blocks.map((id) => `<Latest>${id}</Latest>`).join('');
    const body = `<?xml version="1.0" encoding="utf-8"?><BlockList>${ids}</BlockList>`;
    const own = { 'x-ms-blob-content-type': 'application/octet-stream' };
    return this.requests.retrying(async () => {
      const list = this.blob.call('PUT', { comp: 'blocklist' }, own, body);
      const { headers } = await this.#completion.track(() => this.requests.once(list, [201]));
      return this.blob.confirm({ size: this.#size, etag: headers.get('ETag') });
    });
  }

  /** Blocks that no list names are gone after a week. */
  async abort(): Promise<void> {
    if (!this.#completion.mayBeDone) return;
    await requireAbsent(this.requests, this.blob.call('HEAD', {}, {}), { size: this.#size, since: this.#startedAt });
  }
}
