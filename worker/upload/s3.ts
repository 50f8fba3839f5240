// S3's multipart upload: parts in any order, then a list of them.
// Amazon S3 API Reference: CreateMultipartUpload, UploadPart, ListParts, CompleteMultipartUpload, AbortMultipartUpload.

import type { DecantError } from '../errors/errors.js';
import type { TargetPlan } from '../public/types.js';
import { type ResumedUpload, requireAllParts, type UploadProtocol } from './ascending-target.js';
import type { PartSize, UploadPart } from './part-cutter.js';
import { InFlight } from './part-sending.js';
import { bareEtag, type ListedPart, partsIn, uploadIdIn } from './responses.js';
import { Completion, etagOf, isEtagOf, isObjectOf } from './s3-completion.js';
import type { InterruptedUpload, S3Journal, StoredPart } from './s3-journal.js';
import { growingSize, PartSender, partSize, requireRoom, SMALLEST_PART, uncheckedParts } from './s3-parts.js';
import { methodAndQuery } from './s3-sign.js';
import { CompletionTracker, requireAbsent } from './uncertain-completion.js';
import { andResumable, completedAt, NOT_VERIFIABLE, OTHER_SENDER } from './upload-errors.js';
import type { UploadCall } from './upload-exchange.js';
import type { S3Request } from './upload-options.js';
import type { UploadRequests, UploadResponse } from './upload-requests.js';

/** The maximum number of parts in flight, and of their bytes. */
const AT_ONCE = 4;
const MEMORY = 256 << 20;

/** The server does not know the upload, or does not support ListParts. */
const NOT_LISTED = [404, 405, 501];

/**
 * The type of the object. The request that completes the upload has a Content-Type, too: CORS rules that do not allow it fail at
 * the start, not after all parts.
 */
const CONTENT = { 'Content-Type': 'application/octet-stream' };

const CREATE: S3Request = { action: 'create' };
const HEAD: S3Request = { action: 'head' };

export class S3 implements UploadProtocol {
  #upload: { id: string } | undefined;
  #flight!: InFlight;
  readonly #parts: StoredPart[] = [];
  readonly #sender: PartSender;
  readonly digests = true;
  readonly lateStart = SMALLEST_PART;
  #completion: Completion | undefined;
  readonly completing = new CompletionTracker();
  /** Whether this conversion completed the object. */
  #hasCompleted = false;
  /** Whether an earlier conversion completed the object: then nothing is sent. */
  #isComplete = false;
  /** The size of the output so far, in bytes. */
  #size = 0;
  #createdAt = Number.NaN;
  readonly #since = performance.now();
  /** Whether the journal has this upload. */
  #isJournaled = false;
  resumed: ResumedUpload | undefined;
  sizeOf: PartSize | undefined;
  isChecked = false;
  /** Whether an object whose parts are unchecked must not be completed. */
  #mustCheck = false;

  /** With a journal, interrupted uploads can be resumed. */
  constructor(
    readonly requests: UploadRequests,
    private readonly sign: (request: S3Request) => Promise<string>,
    private readonly journal: S3Journal | undefined,
    private readonly partSizeOf = partSize,
  ) {
    this.#sender = new PartSender(requests);
  }

  get resumes(): boolean {
    return this.journal !== undefined;
  }

  async begin(plan: TargetPlan): Promise<number> {
    const size = this.partSizeOf(plan);
    this.#mustCheck = plan.verify === true;
    this.#flight = new InFlight(partsInFlight(size));
    if (plan.outputSize === undefined) this.sizeOf = growingSize(size);
    const left = await this.#readJournal(plan.identity);
    if (left && (await this.#resume(left, size, plan))) return size;
    const create = async () => ({ ...(await this.#call(CREATE)), headers: CONTENT });
    const created = await this.requests.begin(create, [200]);
    const id = uploadIdIn(created.text);
    if (id === undefined) throw this.requests.failed(`the server does not state an upload ID; ${OTHER_SENDER}`);
    this.#upload = { id };
    this.#createdAt = Date.parse(created.headers.get('Date') ?? '');
    // Only now: if no upload can be created, the old one stays resumable.
    if (left) await this.#abortLeft(left);
    const { identity } = plan;
    if (identity !== undefined) {
      this.#isJournaled = true;
      await this.journal?.begin({ identity, size, ...this.#upload });
    }
    return size;
  }

  async part(part: UploadPart): Promise<void> {
    if (this.#isComplete) return;
    requireRoom(part.number, part.offset);
    this.#size = Math.max(this.#size, part.offset + part.size);
    if (this.sizeOf) this.#flight.most = partsInFlight(this.sizeOf(part.number));
    const digest = await part.digest();
    await this.#flight.start(() => this.#send(part, digest));
  }

  async complete(): Promise<string | undefined> {
    let unconfirmed: string | undefined;
    if (!this.#isComplete) {
      await this.#flight.finish();
      requireAllParts(this.#parts);
      if (this.#mustCheck && uncheckedParts(this.#parts))
        throw this.requests.failed(NOT_VERIFIABLE, { code: 'not-verifiable' });
      await this.#journalEtag();
      unconfirmed = await this.#complete();
      this.#hasCompleted = true;
    }
    unconfirmed ??= uncheckedParts(this.#parts);
    this.isChecked = unconfirmed === undefined;
    await this.#forget();
    return unconfirmed;
  }

  async abort(keep: boolean): Promise<boolean> {
    if (this.#hasCompleted) throw completedAt(this.requests.shownAddress);
    // A late response to the completion clears it.
    const removal = this.#upload && this.#removal();
    const isBegun = removal !== undefined;
    const isKept =
      keep && isBegun && this.#isJournaled && this.#completion?.isOver !== true && this.journal?.hasAny === true;
    await this.journal?.end();
    // Before the request: afterwards, another upload may already use the journal. An upload that was not resumed yet stays in it.
    if (isBegun && this.#isJournaled && !isKept) await this.journal?.clear();
    if (!isBegun) return false;
    if (!isKept) await this.requests.remove(() => this.#call(removal));
    if (this.completing.mayBeDone)
      await this.#requireAbsent().catch((left: DecantError) => {
        throw isKept ? andResumable(left) : left;
      });
    return isKept;
  }

  /** Fails with `object-completed` if the upload was completed, or may still be: then the server does not know it, as after an abort. */
  async #requireAbsent(): Promise<void> {
    const { completing } = this;
    const etag = await etagOf(this.#parts);
    const isOurs = (headers: Headers) => isObjectOf(etag, headers.get('ETag'));
    await requireAbsent(this.requests, () => this.#call(HEAD), {
      size: this.#size,
      since: this.resumed ? undefined : this.#since,
      isOurs,
      completing,
    });
  }

  async #complete(): Promise<string | undefined> {
    const { requests } = this;
    const request: S3Request = { action: 'complete', ...this.#uploadId };
    const headers = { 'Content-Type': 'application/xml' };
    const call = async (body: string): Promise<UploadCall> => {
      return { ...(await this.#call(request)), headers, body, completing: true };
    };
    const complete = (body: string) => () => call(body);
    const uploaded = { parts: this.#parts, size: this.#size, createdAt: this.#createdAt };
    this.#completion = new Completion(requests, complete, () => this.#call(HEAD), uploaded, this.completing);
    return this.#completion.run();
  }

  /** Forgets the completed upload, here and in the journal. */
  async #forget(): Promise<void> {
    this.#upload = undefined;
    await this.journal?.clear();
  }

  /** Adds the object's ETag to the journal, so that a later conversion recognises the object if this one is killed. */
  async #journalEtag(): Promise<void> {
    const etag = this.#isJournaled ? await etagOf(this.#parts) : undefined;
    if (etag !== undefined) await this.journal?.addEnd(etag);
  }

  /** Resumes `left`, if it has the same identity and its parts are still stored, or it was completed. Returns whether it does. */
  async #resume(left: InterruptedUpload, size: number, { identity, virtualSize = 0 }: TargetPlan): Promise<boolean> {
    if (left.identity !== identity || left.size !== size) return false;
    this.#upload = { id: left.id };
    this.#isJournaled = true;
    const there = await this.#countStored(left);
    this.#isComplete = there === 0 && (await this.#isObject(left));
    // Only parts of the disk itself, without the output's footer.
    const count = Math.min(this.#isComplete ? left.parts.length : there, Math.floor(virtualSize / size));
    if (count > 0 || this.#isComplete) {
      this.#parts.push(...left.parts.slice(0, count));
      this.resumed = { parts: count, written: left.written[count - 1] ?? 0 };
      return true;
    }
    this.#upload = undefined;
    this.#isJournaled = false;
    return false;
  }

  /** Whether the interrupted upload has made the object. */
  async #isObject({ etag }: InterruptedUpload): Promise<boolean> {
    if (etag === undefined) return false;
    const look = await this.requests.look(() => this.#call(HEAD));
    return 'headers' in look && isEtagOf(etag, look.headers.get('ETag')) === true;
  }

  /** Aborts an interrupted upload. Ignores failures: a rule of the bucket removes it. */
  async #abortLeft({ id }: InterruptedUpload): Promise<void> {
    await this.#ask(this.#removal(id), [200, 204, 404]).catch(() => {});
    await this.journal!.clear();
  }

  /** Reads the journal. Without `resume`, an unreadable one counts as empty. */
  async #readJournal(identity: string | undefined): Promise<InterruptedUpload | undefined> {
    try {
      return await this.journal?.read();
    } catch (thrown) {
      if (identity !== undefined) throw thrown;
      return undefined;
    }
  }

  /** Counts the parts in the journal, from the first one, that the server lists; it lists them in pages. */
  async #countStored({ parts, size }: InterruptedUpload): Promise<number> {
    for (let count = 0; ; ) {
      const list: S3Request = { action: 'list', ...this.#uploadId, partNumberMarker: count };
      const { status, text } = await this.#ask(list, [200, ...NOT_LISTED]);
      if (status !== 200) return 0;
      const listed = partsIn(text);
      const before = count;
      while (count < parts.length && isPart(listed.get(count + 1), parts[count]!, size)) count += 1;
      if (count === before) return count;
    }
  }

  #removal(uploadId = this.#upload!.id): S3Request {
    return { action: 'abort', uploadId };
  }

  async #send(part: UploadPart, digest: Uint8Array): Promise<void> {
    const request: S3Request = { action: 'part', ...this.#uploadId, partNumber: part.number + 1 };
    const call = async (headers = {}) => ({ ...(await this.#call(request)), headers, body: part.body });
    const stored = await this.#sender.send(call, part.body, digest, this.#mustCheck);
    this.#parts[part.number] = stored;
    // Never the last part: a resumed conversion sends the end of the output.
    if (!part.isLast && this.#isJournaled) await this.journal?.add(part.number, stored, part.written);
  }

  get #uploadId(): { uploadId: string } {
    return { uploadId: this.#upload!.id };
  }

  #ask(request: S3Request, accepted: readonly number[]): Promise<UploadResponse> {
    return this.requests.send(() => this.#call(request), accepted);
  }

  async #call(request: S3Request): Promise<UploadCall> {
    return { method: methodAndQuery(request).method, url: await this.sign(request), mayFailWith200: true };
  }
}

/** How many parts of `size` bytes may be in flight. */
const partsInFlight = (size: number): number => Math.max(1, Math.min(AT_ONCE, Math.floor(MEMORY / size)));

/** Whether a listed part matches the journal. Without a listed ETag, the server compares it at completion. */
const isPart = (listed: ListedPart | undefined, { etag }: StoredPart, size: number): boolean =>
  listed !== undefined && listed.size === size && (listed.etag ?? bareEtag(etag)) === bareEtag(etag);
