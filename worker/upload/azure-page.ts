// An Azure page blob: created with its size, as zeros, then written page by page. Put Blob, Put Page, Get Page Ranges.

import { DecantError } from '../errors/errors.js';
import { RequestRefused } from '../http/http-failures.js';
import type { Network, Target, TargetEnd, TargetPlan } from '../public/types.js';
import { ABORT_TIMEOUT, endOf, tooLarge } from './ascending-target.js';
import { type AzureBlob, UPLOAD_MARK } from './azure-blob.js';
import { hasSize } from './confirmation.js';
import { InFlight } from './in-flight.js';
import { Md5 } from './md5.js';
import { BodyBuilder } from './request-body.js';
import type { MakeCall, UploadRequests, UploadResponse } from './upload-requests.js';

const PAGE = 512;
/** The limit of a request, in bytes. */
const MAX_WRITE = 4 << 20;
const AT_ONCE = 8;
/** Azure Blob Storage, "Scalability and performance targets". */
const LARGEST = 8 * 2 ** 40;
const CONFLICT = 409;
const NAME_TAKEN = 'a blob with this name exists; remove it, or choose another name';

/** Contiguous written bytes. */
interface PageRun {
  offset: number;
  gathering: BodyBuilder;
  digest: Md5;
}

const emptyRun = (): PageRun => ({ offset: 0, gathering: new BodyBuilder(MAX_WRITE), digest: new Md5() });

export class PageBlob implements Target {
  readonly ordered = true;
  readonly abortTimeout = ABORT_TIMEOUT;
  readonly #flight = new InFlight(AT_ONCE);
  /** Metadata of an incomplete blob. A blob with another mark was left by an interrupted upload. */
  readonly #mark = crypto.randomUUID();
  /** Pages are written only to a blob with this number. An upload that takes over the name sets another one. */
  readonly #sequence = String(Math.floor(Math.random() * Number.MAX_SAFE_INTEGER));
  /** Whether this upload created the blob; 'perhaps' while the response to its creation is unknown. */
  #isOurs: boolean | 'perhaps' = false;
  #isUnmarked = false;
  /** Whether unwritten ranges of the blob are zeros. */
  #isBlank = true;
  /** Whether the server has stored or cleared pages, and how many such requests got no final response. */
  #written = { some: false, unanswered: 0 };
  #opening: Promise<void> | undefined;
  #size = 0;
  /** Written and not sent yet. */
  #run = emptyRun();

  /** With `existing`, the blob is neither created nor removed. */
  constructor(
    private readonly blob: AzureBlob,
    private readonly existing = false,
  ) {}

  get network(): Network {
    return this.#requests.network;
  }

  async open({ outputSize }: TargetPlan): Promise<void> {
    if (outputSize === undefined || outputSize % PAGE !== 0) {
      const which = "of known size, a multiple of 512 bytes, such as a fixed VHD ('vpc') or a raw disk";
      throw new DecantError('target', `A page blob needs an output ${which}; choose another format, or a block blob`);
    }
    if (outputSize > LARGEST) throw tooLarge(`A page blob can have at most ${LARGEST} bytes, not ${outputSize}`);
    this.#size = outputSize;
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
    return endOf(await this.#requests.retrying(() => this.#finish(last)));
  }

  async abort(): Promise<void> {
    this.#requests.stop();
    // Ignored: `open` reports it.
    await this.#opening?.catch(() => {});
    if (this.existing) this.#requireUnwritten();
    if (this.#isOurs !== false && (await this.#isStillThere()))
      await this.#requests.remove(this.blob.call('DELETE', {}, {}));
  }

  /** Fails with `object-overwritten` if the blob was, or may have been, changed. */
  #requireUnwritten(): void {
    const { some, unanswered } = this.#written;
    if (some || unanswered > 0) throw this.#requests.overwritten(!some);
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
      throw this.#requests.perhapsLeftBehind(thrown);
    }
    const isThisUpload = answer.status === 200 && this.#isThisUpload(answer);
    if (isThisUpload === undefined && this.#isOurs === true)
      throw this.#requests.perhapsLeftBehind(new Error('nothing shows that the blob is from this upload'));
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
  async #finish(last: MakeCall | undefined): Promise<string | undefined> {
    const once = this.#requests.once.bind(this.#requests);
    const etags = [];
    // Without its mark, no later upload replaces the blob.
    this.#isUnmarked = true;
    if (!this.existing)
      etags.push((await once(this.blob.call('PUT', { comp: 'metadata' }, {}), [200])).headers.get('ETag'));
    if (last) etags.push((await this.#change(last)).headers.get('ETag'));
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
    const { offset: start, gathering } = this.#run;
    if (start + gathering.length !== offset || gathering.length + bytes.length > MAX_WRITE) await this.#send();
    if (this.#run.gathering.length === 0) this.#run.offset = offset;
    this.#run.gathering.add(bytes);
    await this.#run.digest.add(bytes);
  }

  /** Sends the current run. */
  async #send(): Promise<void> {
    const page = await this.#takePage();
    if (!page) return;
    await this.#flight.start(async () => {
      await this.#requests.retrying(() => this.#change(page));
    });
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

  /** Takes the current run, and returns its request; `undefined` if it is empty. */
  async #takePage(): Promise<MakeCall | undefined> {
    const { offset, gathering, digest } = this.#run;
    const { length } = gathering;
    if (length === 0) return undefined;
    this.#run = emptyRun();
    const own = this.#headers('update', offset, length);
    return this.blob.callWithDigest(gathering.end(), await digest.take(), { comp: 'page' }, own);
  }

  #headers(action: 'update' | 'clear', offset: number, length: number): Record<string, string> {
    return {
      'x-ms-page-write': action,
      'x-ms-range': `bytes=${offset}-${offset + length - 1}`,
      ...(this.existing ? {} : { 'x-ms-if-sequence-number-eq': this.#sequence }),
    };
  }
}
