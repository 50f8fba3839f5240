// Google Cloud Storage's resumable uploads: one chunk after the other.
// Cloud Storage documentation, "Perform resumable uploads".

import { NoAnswer, RequestRefused } from '../http/http-failures.js';
import type { TargetPlan } from '../public/types.js';
import { tooLarge, type UploadProtocol } from './ascending-target.js';
import { confirm, Unfinished, unconfirmed } from './confirmation.js';
import { toBase64 } from './digests.js';
import type { UploadPart } from './part-cutter.js';
import { appendPart, InFlight } from './part-sending.js';
import { type Body, sizeOf } from './request-body.js';
import { CompletionTracker, lateCompletion, requireAbsent } from './uncertain-completion.js';
import { completedAt, lacksHeader, OTHER_SENDER, objectDiffers } from './upload-errors.js';
import type { UploadCall } from './upload-exchange.js';
import type { MakeCall, ObjectAddress, UploadRequests, UploadResponse } from './upload-requests.js';

/** The protocol requires a multiple of 256 KiB. */
const CHUNK = 16 << 20;
/** Cloud Storage documentation, "Quotas and limits". */
const LARGEST = 5 * 2 ** 40;
/** Codes for an object that does not match its digest. */
const DIGEST_ERRORS = ['BadDigest', 'InvalidDigest'];
/** Attempts with a digest that CORS rules may not allow: a page cannot distinguish this from a broken network. */
const MAX_UNANSWERED = 3;
/** How many responses may lack Range: the server has received nothing, or CORS hides it. */
const MAX_WITHOUT_RANGE = 3;
const INCOMPLETE = 308;
const COMPLETE = [200, 201];
/** Google's response to DELETE. */
const CANCELLED = 499;

export class Gcs implements UploadProtocol {
  readonly #flight = new InFlight(1);
  readonly digests = true;
  /** Computes the MD5 of the whole object; set with the last part. */
  #digest!: () => Promise<Uint8Array>;
  /** The MD5 of the whole object. */
  #md5: Promise<Uint8Array> | undefined;
  #size = 0;
  #withoutRange = 0;
  /** In a page: requests with the digest that got no answer in a row. */
  #unanswered = 0;
  readonly #since = performance.now();
  readonly completing = new CompletionTracker();
  /** Why the object could not be confirmed. */
  #unconfirmed: string | undefined;
  isChecked = false;

  constructor(
    readonly requests: UploadRequests,
    /** Where to start a session. */
    private readonly url: URL | undefined,
    private session: URL | undefined,
  ) {}

  async begin({ outputSize = 0 }: TargetPlan): Promise<number> {
    if (outputSize > LARGEST) throw tooLarge(`An object can have at most ${LARGEST} bytes, not ${outputSize}`);
    this.session ??= await this.#startSession(this.url!);
    return CHUNK;
  }

  async part(part: UploadPart): Promise<void> {
    this.#digest = part.digest;
    await this.#flight.start(async () => {
      this.#size = part.offset + part.size;
      const total = part.isLast ? String(this.#size) : '*';
      await appendPart(this.requests, part, {
        append: (offset, body) => this.#append(offset, body, total),
        end: () => this.#askOffset(total),
      });
    });
  }

  async complete(): Promise<string | undefined> {
    await this.#flight.finish();
    return this.#unconfirmed;
  }

  async abort(): Promise<void> {
    if (!this.session) return;
    // Before DELETE, after which the session is unknown.
    const isDone = this.completing.mayBeDone ? await this.#isDone() : false;
    if (isDone) throw completedAt(this.requests.shownAddress);
    const { status } = await this.requests.remove(() => this.#call('DELETE', {}));
    const isSure =
      status === CANCELLED || (isDone === false && status < 300 && this.completing.lateCompletion === undefined);
    if (this.completing.mayBeDone && !isSure) await this.#requireAbsent();
  }

  /** Asks the session, after `stop`, whether it has completed the object; `undefined` if it does not say. */
  async #isDone(): Promise<boolean | undefined> {
    const total = String(this.#size);
    const own = { ...contentRange(`*/${total}`), ...(await this.#digestHeader(total)) };
    const ask = async () => ({ ...(await this.#call('PUT', own)), sees308: true });
    try {
      const answer = await this.requests.sendAfterStop(ask, [...COMPLETE, INCOMPLETE]);
      if (answer.status === INCOMPLETE) return false;
      return (await this.#isUploaded(answer)) === undefined ? undefined : true;
    } catch {
      return undefined;
    }
  }

  async #requireAbsent(): Promise<void> {
    const head = this.#head();
    if (!head) throw completedAt(this.requests.shownAddress, 'the session is over');
    const { completing } = this;
    await requireAbsent(this.requests, head, { size: this.#size, since: this.#since, completing });
  }

  get object(): ObjectAddress | undefined {
    return this.url && !isJsonApi(this.url) ? { url: this.url } : undefined;
  }

  /** The HEAD request for the object, if its URL is known. */
  #head(): MakeCall | undefined {
    if (!this.object) return undefined;
    const { url } = this.object;
    return async () => ({ method: 'HEAD', url, headers: await this.requests.headers() });
  }

  async #startSession(url: URL): Promise<URL> {
    // The JSON API has it in the query, the XML API in a header.
    const kind: Record<string, string> = isJsonApi(url) ? {} : { 'x-goog-resumable': 'start' };
    const call = async () => ({ method: 'POST', url, headers: await this.requests.headers(kind) });
    const { status, headers } = await this.requests.begin(call, COMPLETE);
    const session = headers.get('Location');
    if (session !== null) return this.requests.continuation(url, session);
    throw this.requests.failed(`the server does not state the URL of the upload: ${lacksHeader(status, 'Location')}`);
  }

  async #append(offset: number, body: Body, total: string): Promise<number> {
    const end = offset + sizeOf(body);
    const range = end === offset ? '*' : `${offset}-${end - 1}`;
    const put = () => this.#put(range, total, body);
    try {
      const answer = await (total === '*' ? put() : this.completing.track(put));
      return await this.#endOf(answer, total, end);
    } catch (thrown) {
      if (!(thrown instanceof RequestRefused) || !DIGEST_ERRORS.includes(thrown.serverCode ?? '')) throw thrown;
      throw this.requests.failed('the server received other bytes than were sent', { code: 'part-differs' });
    }
  }

  /** Puts `body`, or nothing, at `range` of `total`. */
  async #put(range: string, total: string, body?: Body): Promise<UploadResponse> {
    const digest = await this.#digestHeader(total);
    const isDigested = 'x-goog-hash' in digest;
    const call = async () => ({
      ...(await this.#call('PUT', { ...contentRange(`${range}/${total}`), ...digest })),
      sees308: true,
      ...(body ? { body } : {}),
    });
    try {
      const answer = await this.requests.once(call, [...COMPLETE, INCOMPLETE]);
      if (isDigested) this.#unanswered = 0;
      return answer;
    } catch (thrown) {
      if (isDigested && thrown instanceof NoAnswer && typeof document !== 'undefined') this.#unanswered += 1;
      throw thrown;
    }
  }

  /**
   * Makes the header of a request that may complete the object: the server compares the digest, and replaces no object with
   * other bytes.
   */
  async #digestHeader(total: string): Promise<Record<string, string>> {
    if (total === '*' || this.#unanswered >= MAX_UNANSWERED) return {};
    return { 'x-goog-hash': `md5=${toBase64(await this.#takeDigest())}` };
  }

  /** Resolves to the digest of the whole object, once all its bytes were added. */
  #takeDigest(): Promise<Uint8Array> {
    this.#md5 ??= this.#digest();
    return this.#md5;
  }

  /** Without the caller's headers: a token would expire before the session, which needs none. */
  async #call(method: string, own: Record<string, string>): Promise<UploadCall> {
    const url = this.session!;
    return { method, url, headers: await this.requests.headers(own, { url, given: {} }) };
  }

  /**
   * Returns the offset up to which the server has the output, by its response to a request with bytes up to `sent` of `total`.
   * `isAsked` means that the request only asked for the offset.
   */
  async #endOf(answer: UploadResponse, total: string, sent: number, isAsked = false): Promise<number> {
    if (answer.status !== INCOMPLETE) {
      // A gateway may have sent a page: the session knows better.
      if (!isFromGoogle(answer)) throw new Unfinished('the response that calls the upload complete is not from Google');
      if (total === '*') throw new Error('the server calls the upload complete too early');
      return this.#completed(answer, total, isAsked);
    }
    const range = answer.headers.get('Range');
    const end = range === null ? 0 : endIn(range);
    if (String(end) === total) throw new Unfinished('the server has all bytes, but has not completed the upload');
    if (range !== null) {
      this.#withoutRange = 0;
      return end;
    }
    // Without any bytes, the server sends no Range.
    if (sent > 0) this.#withoutRange += 1;
    if (sent > CHUNK || this.#withoutRange >= MAX_WITHOUT_RANGE)
      throw new Error(`the server does not state how much it has received: ${lacksHeader(INCOMPLETE, 'Range')}`);
    return 0;
  }

  /** Asks the session for the offset. */
  async #askOffset(total: string): Promise<number> {
    try {
      return await this.#endOf(await this.#put('*', total), total, 0, true);
    } catch (thrown) {
      if (total === '*' || lateCompletion(thrown) === undefined || !(await this.#isStored())) throw thrown;
      return this.#size;
    }
  }

  /** Whether the object has the digest of the upload, after the response was lost: all further responses may be lost, too. */
  async #isStored(): Promise<boolean> {
    const head = this.#head();
    const answer = head && (await this.requests.once(head, [200]).catch(() => undefined));
    return answer?.headers.has('x-goog-hash') === true && (await this.#isUploaded(answer)) === true;
  }

  /**
   * Verifies a response that calls the upload complete: it describes the object, or the session confirms it when asked. Resolves
   * to the end of the object.
   */
  async #completed(answer: UploadResponse, total: string, isAsked: boolean): Promise<number> {
    const isRight = await this.#isUploaded(answer);
    if (isRight === false) throw objectDiffers();
    if (isRight) return this.#size;
    if (!isAsked) return this.#askOffset(total);
    this.#unconfirmed = await this.#confirmObject();
    return this.#size;
  }

  /** Confirms the object by HEAD, if its URL is known. */
  async #confirmObject(): Promise<string | undefined> {
    const head = this.#head();
    if (!head) return unconfirmed('the response of the server states neither size nor digest');
    return confirm(this.requests, head, { size: this.#size, since: this.#since });
  }

  /** Whether the response describes what was sent; `undefined` if it has neither size nor digest. */
  async #isUploaded({ headers, text }: UploadResponse): Promise<boolean | undefined> {
    const size = /"size":\s*"(\d+)"/.exec(text)?.[1] ?? headers.get('x-goog-stored-content-length') ?? undefined;
    const digest =
      /"md5Hash":\s*"([^"]+)"/.exec(text)?.[1] ?? /md5=([\w+/=]+)/.exec(headers.get('x-goog-hash') ?? '')?.[1];
    if (digest !== undefined && digest !== toBase64(await this.#takeDigest())) return false;
    if (size !== undefined && Number(size) !== this.#size) return false;
    this.isChecked ||= digest !== undefined;
    return size !== undefined || digest !== undefined ? true : undefined;
  }
}

const contentRange = (range: string): Record<string, string> => ({ 'Content-Range': `bytes ${range}` });

/** Whether the body is one of Google: JSON, or empty. */
const isFromGoogle = ({ text }: UploadResponse): boolean => /^\s*(\{|$)/.test(text);

const isJsonApi = (url: URL): boolean => url.searchParams.has('uploadType');

/** Where the bytes end that the server has received, by its header Range. */
function endIn(range: string): number {
  const last = /^(?:bytes=)?0-(\d+)$/.exec(range.trim())?.[1];
  if (last !== undefined) return Number(last) + 1;
  const found = `its header Range is '${range.slice(0, 100)}'`;
  throw new Error(`the server does not state how much it has received: ${found}; ${OTHER_SENDER}`);
}
