// Uploads to Azure: block blobs and page blobs. Azure Blob Storage REST API.

import { DecantError } from '../errors/errors.js';
import { RequestRefused } from '../http/http-failures.js';
import type { Network, ReadableOutput, Target, TargetEnd, TargetPlan } from '../public/types.js';
import { ABORT_TIMEOUT, endOf, requireAllParts, tooLarge, type UploadProtocol } from './ascending-target.js';
import { type BodyMaker, bodyMaker } from './body-maker.js';
import { confirm, type ExpectedObject, hasSize } from './confirmation.js';
import { md5, toBase64 } from './digests.js';
import type { PartSize, UploadPart } from './part-cutter.js';
import { InFlight } from './part-sending.js';
import type { Body } from './request-body.js';
import { CompletionTracker, lateCompletion, requireAbsent } from './uncertain-completion.js';
import { completedAt, leftBehind, overwrittenAt } from './upload-errors.js';
import type { MakeCall, ObjectAddress, UploadRequests, UploadResponse } from './upload-requests.js';

/** The API version. */
const VERSION = '2021-12-02';
/** The metadata that identifies an upload. */
const UPLOAD_MARK = 'x-ms-meta-decant';

/** Makes requests for a blob. */
export class AzureBlob {
  constructor(
    readonly requests: UploadRequests,
    /** May have a signature in its query. */
    private readonly url: URL,
  ) {}

  /** Makes a request; adds `query` to the query of the URL. */
  call(method: string, query: Record<string, string>, own: Record<string, string>, body?: Body | string): MakeCall {
    const url = new URL(this.url);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return async () => ({
      method,
      url,
      headers: await this.requests.headers({ 'x-ms-version': VERSION, ...own }),
      ...(body === undefined ? {} : { body }),
    });
  }

  get address(): ObjectAddress {
    return { url: this.url, headers: { 'x-ms-version': VERSION } };
  }

  /** Fails with `part-differs` if the server states another digest of what it has received. */
  requireDigest({ headers }: UploadResponse, digest: Uint8Array): void {
    const stated = headers.get('Content-MD5');
    if (stated !== null && stated !== toBase64(digest))
      throw this.requests.failed('the server received other bytes than were sent', { code: 'part-differs' });
  }

  /** See `confirm`. */
  confirm(expected: ExpectedObject): Promise<string | undefined> {
    return confirm(this.requests, this.call('HEAD', {}, {}), expected);
  }

  /** Makes a PUT of `body`, whose MD5 digest the server checks. */
  callWithDigest(body: Body, md5: Uint8Array, query: Record<string, string>, own: Record<string, string>): MakeCall {
    return this.call('PUT', query, { ...own, 'Content-MD5': toBase64(md5) }, body);
  }
}

const BLOCKS_AT_ONCE = 4;
const MAX_BLOCKS = 50_000;
const SMALLEST_BLOCK = 8 << 20;
/** Blocks are held in memory while they are sent. */
const LARGEST_BLOCK = 128 << 20;
/** If the size of the output is unknown, the block size doubles after this many blocks: 4.2 TiB fit. */
const DOUBLING = 5_000;
/** Compressed data may be this much larger than the disk. */
const OVERHEAD = 1.01;

/** A block blob: blocks in any order, then a list of them all. Put Block, Put Block List. */
export class BlockBlob implements UploadProtocol {
  readonly digests = true;
  readonly lateStart = SMALLEST_BLOCK;
  readonly #flight = new InFlight(BLOCKS_AT_ONCE);
  /** Distinguishes the blocks from those of other uploads. */
  readonly #idPrefix = crypto.randomUUID();
  readonly #blocks: string[] = [];
  readonly #startedAt = performance.now();
  readonly completing = new CompletionTracker();
  /** The size of the output so far, in bytes. */
  #size = 0;
  sizeOf: PartSize | undefined;
  isChecked = false;

  constructor(private readonly blob: AzureBlob) {}

  get object(): ObjectAddress {
    return this.blob.address;
  }

  get requests(): UploadRequests {
    return this.blob.requests;
  }

  async begin({ outputSize, virtualSize }: TargetPlan): Promise<number> {
    const most = outputSize ?? (virtualSize ?? 0) * OVERHEAD;
    const needed = Math.ceil(most / MAX_BLOCKS / SMALLEST_BLOCK) * SMALLEST_BLOCK;
    if (needed > LARGEST_BLOCK) throw tooLarge(`A block blob can have at most ${LARGEST_BLOCK * MAX_BLOCKS} bytes`);
    const size = Math.max(SMALLEST_BLOCK, needed);
    if (outputSize === undefined)
      this.sizeOf = (number) => Math.min(LARGEST_BLOCK, size * 2 ** Math.floor(number / DOUBLING));
    return size;
  }

  async part({ number, offset, size, body, ...part }: UploadPart): Promise<void> {
    this.#size = Math.max(this.#size, offset + size);
    // An empty output has an empty list.
    if (size === 0) return;
    if (number >= MAX_BLOCKS)
      throw tooLarge(`A block blob can have at most ${MAX_BLOCKS} blocks, here ${offset} bytes`);
    const blockid = btoa(`${this.#idPrefix}-${String(number).padStart(5, '0')}`);
    this.#blocks[number] = blockid;
    const digest = await part.digest();
    const call = this.blob.callWithDigest(body, digest, { comp: 'block', blockid }, {});
    await this.#flight.start(async () => {
      this.blob.requireDigest(await this.requests.send(call, [201]), digest);
    });
  }

  async complete(): Promise<string | undefined> {
    const unconfirmed = await this.#commit();
    this.isChecked = unconfirmed === undefined;
    return unconfirmed;
  }

  async #commit(): Promise<string | undefined> {
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

const PAGE = 512;
/** The limit of a request, in bytes. */
const MAX_WRITE = 4 << 20;
const WRITES_AT_ONCE = 8;
/** Azure Blob Storage, "Scalability and performance targets". */
const LARGEST_PAGE_BLOB = 8 * 2 ** 40;
const CONFLICT = 409;
const NAME_TAKEN = 'a blob with this name exists; remove it, or choose another name';

/** A request that stores pages, and the digest of its body. */
interface Page {
  call: MakeCall;
  digest: Uint8Array;
}

/** A page blob: created with its size, as zeros, then written page by page. Put Blob, Put Page, Get Page Ranges. */
export class PageBlob implements Target {
  readonly ascending = true;
  readonly abortTimeout = ABORT_TIMEOUT;
  readonly resumes = false;
  readonly #flight = new InFlight(WRITES_AT_ONCE);
  /** Metadata of an incomplete blob. A blob with another mark was left by an interrupted upload. */
  readonly #mark = crypto.randomUUID();
  /** The sequence number: pages are written only to a blob that has it. An upload that takes over the name sets another one. */
  readonly #sequence = String(Math.floor(Math.random() * Number.MAX_SAFE_INTEGER));
  /** Whether this upload created the blob; 'perhaps' while the response to its creation is unknown. */
  #isOurs: boolean | 'perhaps' = false;
  #isUnmarked = false;
  /** Whether the output is verified. */
  #mustCheck = false;
  /** Whether unwritten ranges of the blob are zeros. */
  #isBlank = true;
  /** Whether the server has stored or cleared pages, and how many requests to do so got no final response. */
  #written = { some: false, unanswered: 0 };
  #opening: Promise<void> | undefined;
  #size = 0;
  /** Contiguous bytes that are written and not sent yet. */
  #range = { offset: 0, length: 0 };
  #maker: BodyMaker | undefined;

  /** With `existing`, the blob is neither created nor removed. */
  constructor(
    private readonly blob: AzureBlob,
    private readonly existing = false,
  ) {}

  get network(): Network {
    return this.#requests.network;
  }

  async open(plan: TargetPlan): Promise<void> {
    const { outputSize, verify = false } = plan;
    this.#mustCheck = verify;
    if (outputSize === undefined || outputSize % PAGE !== 0) {
      const which = "of known size, a multiple of 512 bytes, such as a fixed VHD ('vpc') or a raw disk";
      throw new DecantError('target', `A page blob needs an output ${which}; choose another format, or a block blob`);
    }
    if (outputSize > LARGEST_PAGE_BLOB)
      throw tooLarge(`A page blob can have at most ${LARGEST_PAGE_BLOB} bytes, not ${outputSize}`);
    this.#size = outputSize;
    this.#maker = bodyMaker(plan);
    this.#opening = this.existing ? this.#openExisting() : this.#create();
    await this.#opening;
  }

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += MAX_WRITE)
      await this.#add(offset + at, bytes.subarray(at, at + MAX_WRITE));
  }

  /** Clears the range, unless the blob is blank. */
  async hole(offset: number, length: number): Promise<void> {
    if (this.#isBlank) return;
    const clear = this.blob.call('PUT', { comp: 'page' }, this.#headers('clear', offset, length));
    await this.#flight.start(async () => {
      await this.#requests.retrying(() => this.#change(clear));
    });
  }

  async close(): Promise<TargetEnd> {
    await this.#flight.finish();
    const last = await this.#takePage();
    this.#maker?.close();
    const end = endOf(await this.#requests.retrying(() => this.#finish(last)));
    return this.#mustCheck && end.unconfirmed === undefined ? { checked: true } : end;
  }

  async readBack(): Promise<ReadableOutput | undefined> {
    return this.#requests.readable(this.blob.address);
  }

  /** An `existing` blob stays. */
  async remove(): Promise<void> {
    if (this.existing) throw completedAt(this.#requests.shownAddress);
    await this.#requests.removeObject(this.blob.address);
  }

  async abort(): Promise<void> {
    this.#requests.stop();
    this.#maker?.close();
    // Ignored: `open` reports it.
    await this.#opening?.catch(() => {});
    if (this.existing) this.#requireUnwritten();
    if (this.#isOurs !== false && (await this.#isStillThere()))
      await this.#requests.remove(this.blob.call('DELETE', {}, {}));
  }

  /** Fails with `object-overwritten` if the blob was, or may have been, changed. */
  #requireUnwritten(): void {
    const { some, unanswered } = this.#written;
    if (some || unanswered > 0) throw overwrittenAt(this.#requests.shownAddress, !some);
  }

  /**
   * Whether the created blob still exists; `true` if HEAD fails. Fails with `left-behind` if its creation is unknown, too, or if
   * a blob exists that may be another one.
   */
  async #isStillThere(): Promise<boolean> {
    let answer: UploadResponse;
    try {
      answer = await this.#requests.sendAfterStop(this.blob.call('HEAD', {}, {}), [200, 404]);
    } catch (thrown) {
      if (this.#isOurs === true) return true;
      throw leftBehind(this.#requests.shownAddress, thrown, true);
    }
    const isThisUpload = answer.status === 200 && this.#isThisUpload(answer);
    if (isThisUpload === undefined && this.#isOurs === true)
      throw leftBehind(this.#requests.shownAddress, new Error('nothing shows that the blob is from this upload'), true);
    return isThisUpload === true;
  }

  /** Whether the response is of this upload's blob: another upload may have taken over the name. `undefined` if unknown. */
  #isThisUpload({ headers }: UploadResponse): boolean | undefined {
    const sequence = headers.get('x-ms-blob-sequence-number');
    if (sequence !== null) return sequence === this.#sequence;
    // CORS may hide it.
    const mark = headers.get(UPLOAD_MARK);
    if (mark !== null) return mark === this.#mark;
    return this.#isUnmarked || undefined;
  }

  get #requests(): UploadRequests {
    return this.blob.requests;
  }

  /** Creates the blob, only if none exists: an existing one would be emptied at once. */
  async #create(): Promise<void> {
    await this.#requests.survivingStop(async (once) => {
      this.#isOurs = 'perhaps';
      const { status } = await once(this.#creation({ 'If-None-Match': '*' }), [201, CONFLICT]);
      if (status === CONFLICT) await this.#takeOver(once);
      this.#isOurs = true;
    });
  }

  /** Replaces the incomplete blob of an interrupted upload. */
  async #takeOver(once: UploadRequests['once']): Promise<void> {
    const { headers } = await once(this.blob.call('HEAD', {}, {}), [200]);
    const [mark, etag] = [headers.get(UPLOAD_MARK), headers.get('ETag')];
    // Created by an earlier attempt whose response was lost.
    if (mark === this.#mark) return;
    if (!mark || etag === null) {
      this.#isOurs = false;
      throw new DecantError('target', NAME_TAKEN, { code: 'blob-exists' });
    }
    await once(this.#creation({ 'If-Match': etag }), [201]);
  }

  #creation(condition: Record<string, string>) {
    return this.blob.call(
      'PUT',
      {},
      {
        'x-ms-blob-type': 'PageBlob',
        'x-ms-blob-content-length': String(this.#size),
        'x-ms-blob-sequence-number': this.#sequence,
        [UPLOAD_MARK]: this.#mark,
        ...condition,
      },
    );
  }

  /** Sends the end of the output last: without its footer, an incomplete VHD is invalid. */
  async #finish(last: Page | undefined): Promise<string | undefined> {
    const once = this.#requests.once.bind(this.#requests);
    const etags = [];
    // Without its mark, no later upload replaces the blob.
    this.#isUnmarked = true;
    if (!this.existing)
      etags.push((await once(this.blob.call('PUT', { comp: 'metadata' }, {}), [200])).headers.get('ETag'));
    if (last) etags.push((await this.#store(last)).headers.get('ETag'));
    const etag = etags.at(-1);
    const isRight = (headers: Headers) => this.existing || !headers.get(UPLOAD_MARK);
    return this.blob.confirm({ size: this.#size, isRight, ...(etag === undefined ? {} : { etag }) });
  }

  /** Checks the existing blob. */
  async #openExisting(): Promise<void> {
    const look = await this.#requests.look(this.blob.call('HEAD', {}, {}));
    if ('missing' in look) throw this.#requests.failed('there is no blob at this address', { code: 'blob-missing' });
    if ('headers' in look && hasSize(look.headers, this.#size) === false) {
      const fields = { found: Number(look.headers.get('Content-Length')), size: this.#size };
      const sentence = `the blob has ${fields.found} bytes, but the output has ${fields.size}`;
      throw this.#requests.failed(sentence, { code: 'size-differs', fields });
    }
    this.#isBlank = await this.#hasNoPages();
  }

  /** Whether nothing has been written to the blob; `false` if the server does not say. */
  async #hasNoPages(): Promise<boolean> {
    const call = this.blob.call('GET', { comp: 'pagelist', maxresults: '1' }, {});
    const { status, text } = await this.#requests.send(call, [200, 400, 401, 403, 404, 405, 501]);
    return status === 200 && /<PageList[\s/>]/.test(text) && !text.includes('<PageRange>');
  }

  async #add(offset: number, bytes: Uint8Array): Promise<void> {
    const { offset: start, length } = this.#range;
    if (start + length !== offset || length + bytes.length > MAX_WRITE) await this.#send();
    if (this.#range.length === 0) {
      this.#range.offset = offset;
      this.#maker!.begin(MAX_WRITE);
    }
    this.#range.length += bytes.length;
    await this.#maker!.add(bytes);
  }

  /** Sends the current range. */
  async #send(): Promise<void> {
    const page = await this.#takePage();
    if (!page) return;
    await this.#flight.start(async () => {
      await this.#requests.retrying(() => this.#store(page));
    });
  }

  /** Makes one attempt to store pages. */
  async #store({ call, digest }: Page): Promise<UploadResponse> {
    const answer = await this.#change(call);
    this.blob.requireDigest(answer, digest);
    return answer;
  }

  /** Makes one attempt to store or clear pages. */
  async #change(call: MakeCall): Promise<UploadResponse> {
    this.#written.unanswered += 1;
    try {
      const answer = await this.#requests.once(call, [201]);
      this.#written.some = true;
      this.#written.unanswered -= 1;
      return answer;
    } catch (thrown) {
      if (thrown instanceof RequestRefused && thrown.status >= 300) this.#written.unanswered -= 1;
      throw thrown;
    }
  }

  /** Takes the current range; `undefined` if it is empty. */
  async #takePage(): Promise<Page | undefined> {
    const { offset, length } = this.#range;
    if (length === 0) return undefined;
    this.#range = { offset: 0, length: 0 };
    const own = this.#headers('update', offset, length);
    const body = await this.#maker!.end();
    const digest = await this.#maker!.digest();
    return { call: this.blob.callWithDigest(body, digest, { comp: 'page' }, own), digest };
  }

  #headers(action: 'update' | 'clear', offset: number, length: number): Record<string, string> {
    return {
      'x-ms-page-write': action,
      'x-ms-range': `bytes=${offset}-${offset + length - 1}`,
      ...(this.existing ? {} : { 'x-ms-if-sequence-number-eq': this.#sequence }),
    };
  }
}
