// Google Cloud Storage's resumable uploads: one chunk after the other.
// Cloud Storage documentation, "Perform resumable uploads".

import type { TargetPlan } from '../public/types.js';
import { type Protocol, refusedSize } from './ascending-target.js';
import { type Body, sizeOf } from './body.js';
import { Completing, requireAbsent } from './completing.js';
import { confirm, otherObject, Unfinished, unconfirmed } from './confirmation.js';
import { Flight } from './flight.js';
import { lacking } from './lacking.js';
import { Digest, toBase64 } from './md5.js';
import { appendPart } from './offsets.js';
import type { Part } from './parts.js';
import type { Answer, Call, MakeCall, Requests } from './requests.js';

/** A multiple of 256 KiB, as the protocol wants it. */
const CHUNK = 16 << 20;
/** Cloud Storage documentation, "Quotas and limits". */
const LARGEST = 5 * 2 ** 40;
/** How often an answer may say nothing of what was sent: it has nothing of it, or the page does not see what it says. */
const MOST_UNSEEN = 3;
const INCOMPLETE = 308;
const COMPLETE = [200, 201];
/** Google's answer to DELETE. */
const CANCELLED = 499;

export class Gcs implements Protocol {
  readonly #flight = new Flight(1);
  readonly digest = new Digest();
  /** Of all that was sent. */
  #md5: Promise<Uint8Array> | undefined;
  #size = 0;
  #unseen = 0;
  readonly #since = performance.now();
  readonly #completing = new Completing();
  /** Why the object could not be confirmed, if it could not. */
  #unconfirmed: string | undefined;

  constructor(
    readonly requests: Requests,
    /** Where the session is begun. */
    private readonly url: URL | undefined,
    private session: URL | undefined,
  ) {}

  async begin({ outputSize = 0 }: TargetPlan): Promise<number> {
    if (outputSize > LARGEST) throw refusedSize(`An object has at most ${LARGEST} bytes, not ${outputSize}`);
    this.session ??= await this.#begin(this.url!);
    return CHUNK;
  }

  async part(part: Part): Promise<void> {
    await this.#flight.begin(async () => {
      this.#size = part.offset + part.size;
      const total = part.isLast ? String(this.#size) : '*';
      await appendPart(this.requests, part, {
        append: (offset, body) => this.#append(offset, body, total),
        end: () => this.#ask(total),
      });
    });
  }

  async complete(): Promise<string | undefined> {
    await this.#flight.all();
    return this.#unconfirmed;
  }

  async abort(): Promise<void> {
    if (!this.session) return;
    // First: a session that is over is unknown.
    const isDone = this.#completing.mayBeDone ? await this.#isDone() : false;
    if (isDone) throw this.requests.completed();
    const { status } = await this.requests.remove(() => this.#call('DELETE', {}));
    const isSure = status === CANCELLED || (isDone === false && status < 300);
    if (this.#completing.mayBeDone && !isSure) await this.#requireAbsent();
  }

  /** Asks the session, after `stop`, whether it has made the object; `undefined` where it does not say. */
  async #isDone(): Promise<boolean | undefined> {
    const ask = async () => ({ ...(await this.#call('PUT', rangeOf(`*/${this.#size}`))), sees308: true });
    try {
      const answer = await this.requests.last(ask, [...COMPLETE, INCOMPLETE]);
      if (answer.status === INCOMPLETE) return false;
      return (await this.#isRight(answer)) === undefined ? undefined : true;
    } catch {
      return undefined;
    }
  }

  async #requireAbsent(): Promise<void> {
    const head = this.#head();
    if (!head) throw this.requests.completed('the session is over');
    await requireAbsent(this.requests, head, { size: this.#size, since: this.#since });
  }

  /** The request for the object, where its address is known. */
  #head(): MakeCall | undefined {
    const { url } = this;
    if (!url || isJson(url)) return undefined;
    return async () => ({ method: 'HEAD', url, headers: await this.requests.headers() });
  }

  async #begin(url: URL): Promise<URL> {
    // The interface for JSON says it in the query, the one for XML in a header.
    const kind: Record<string, string> = isJson(url) ? {} : { 'x-goog-resumable': 'start' };
    const call = async () => ({ method: 'POST', url, headers: { ...(await this.requests.headers()), ...kind } });
    const { status, headers } = await this.requests.begin(call, COMPLETE);
    const session = headers.get('Location');
    if (session !== null) return this.requests.continuation(url, session);
    throw this.requests.failed(`the server does not say where the upload is: ${lacking(status, 'Location')}`);
  }

  async #append(offset: number, body: Body, total: string): Promise<number> {
    const end = offset + sizeOf(body);
    const range = end === offset ? `*/${total}` : `${offset}-${end - 1}/${total}`;
    const put = () => this.#put(range, body);
    const answer = await (total === '*' ? put() : this.#completing.by(put));
    return this.#endOf(answer, total, end);
  }

  #put(range: string, body?: Body): Promise<Answer> {
    const call = async () => ({
      ...(await this.#call('PUT', rangeOf(range))),
      sees308: true,
      ...(body ? { body } : {}),
    });
    return this.requests.once(call, [...COMPLETE, INCOMPLETE]);
  }

  /** The caller's token is for beginning: it would expire before the session does. */
  async #call(method: string, own: Record<string, string>): Promise<Call> {
    const url = this.session!;
    return { method, url, headers: { ...(await this.requests.headers(url, {})), ...own } };
  }

  /**
   * How far the server has come by its answer to a request that has sent all up to `sent`, of `total`. `isAsked` says that the
   * request has sent nothing and only asked.
   */
  async #endOf(answer: Answer, total: string, sent: number, isAsked = false): Promise<number> {
    if (answer.status !== INCOMPLETE) {
      // The session knows more than whoever has answered by a page.
      if (!isGoogles(answer)) throw new Unfinished('the answer that calls the upload complete is not from the server');
      if (total === '*') throw new Error('the server says that the upload is complete before it is');
      return this.#completed(answer, total, isAsked);
    }
    const range = answer.headers.get('Range');
    const end = range === null ? 0 : Number(/-(\d+)$/.exec(range)?.[1] ?? Number.NaN) + 1;
    if (String(end) === total) throw new Unfinished('the server has all bytes, and has not completed the upload');
    if (range !== null) {
      this.#unseen = 0;
      return end;
    }
    // A server that has nothing says nothing.
    if (sent > 0) this.#unseen += 1;
    if (sent > CHUNK || this.#unseen >= MOST_UNSEEN)
      throw new Error(`the server does not say how much it has: ${lacking(INCOMPLETE, 'Range')}`);
    return 0;
  }

  /** Asks the session how far the server has come. */
  async #ask(total: string): Promise<number> {
    return this.#endOf(await this.#put(`*/${total}`), total, 0, true);
  }

  /**
   * Makes sure that an answer which calls the upload complete is the server's own: it states the object, or the session says the
   * same when it is asked. Resolves to the end of the object.
   */
  async #completed(answer: Answer, total: string, isAsked: boolean): Promise<number> {
    const isRight = await this.#isRight(answer);
    if (isRight === false) throw otherObject();
    if (isRight) return this.#size;
    if (!isAsked) return this.#ask(total);
    this.#unconfirmed = await this.#look();
    return this.#size;
  }

  /** Looks at the object, where its address is known. */
  async #look(): Promise<string | undefined> {
    const head = this.#head();
    if (!head) return unconfirmed("the server's answer states neither size nor digest");
    return confirm(this.requests, head, { size: this.#size, since: this.#since });
  }

  /** Whether the object is what was sent; `undefined` where the answer does not say. */
  async #isRight({ headers, text }: Answer): Promise<boolean | undefined> {
    const size = /"size":\s*"(\d+)"/.exec(text)?.[1] ?? headers.get('x-goog-stored-content-length') ?? undefined;
    const digest =
      /"md5Hash":\s*"([^"]+)"/.exec(text)?.[1] ?? /md5=([\w+/=]+)/.exec(headers.get('x-goog-hash') ?? '')?.[1];
    this.#md5 ??= this.digest.take();
    if (digest !== undefined && digest !== toBase64(await this.#md5)) return false;
    if (size !== undefined && Number(size) !== this.#size) return false;
    return size !== undefined || digest !== undefined ? true : undefined;
  }
}

/** The header that says which bytes come. */
const rangeOf = (range: string): Record<string, string> => ({ 'Content-Range': `bytes ${range}` });

/** Whether an answer that calls the upload complete is Google's own: JSON, or empty. */
const isGoogles = ({ text }: Answer): boolean => /^\s*(\{|$)/.test(text);

/** Whether the address is that of the interface for JSON. */
const isJson = (url: URL): boolean => url.searchParams.has('uploadType');
