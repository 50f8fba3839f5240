// Google Cloud Storage's resumable uploads: one chunk after the other.
// Cloud Storage documentation, "Perform resumable uploads".

import type { TargetPlan } from '../types.js';
import { type Body, sizeOf } from './body.js';
import { Flight } from './flight.js';
import { Digest, toBase64 } from './md5.js';
import { appendPart } from './offsets.js';
import type { Part } from './parts.js';
import type { Answer, Call, Requests } from './requests.js';
import { type Protocol, refusedSize } from './target.js';

/** A multiple of 256 KiB, as the protocol wants it. */
const CHUNK = 16 << 20;
/** Cloud Storage documentation, "Quotas and limits". */
const LARGEST = 5 * 2 ** 40;
/** How often an answer may say nothing of what was sent: it has nothing of it, or the page does not see what it says. */
const MOST_UNSEEN = 3;
const UNSEEN =
  "the server does not say how much it has, or this page does not see it: the bucket's CORS rules have to name Range";
const INCOMPLETE = 308;
const COMPLETE = [200, 201];

export class Gcs implements Protocol {
  readonly #flight = new Flight(1);
  readonly digest = new Digest();
  /** Of all that was sent. */
  #md5: Promise<Uint8Array> | undefined;
  #size = 0;
  #unseen = 0;

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
        end: async () => this.#endOf(await this.#put({ 'Content-Range': `bytes */${total}` }), total, 0),
      });
    });
  }

  complete(): Promise<void> {
    return this.#flight.all();
  }

  async abort(): Promise<void> {
    await this.requests.end(this.session && (() => this.#call('DELETE', {})));
  }

  async #begin(url: URL): Promise<URL> {
    // The interface for JSON says it in the query, the one for XML in a header.
    const isJson = url.searchParams.has('uploadType');
    const kind: Record<string, string> = isJson ? {} : { 'x-goog-resumable': 'start' };
    const call = async () => ({ method: 'POST', url, headers: { ...(await this.requests.headers()), ...kind } });
    const { headers } = await this.requests.send(call, COMPLETE);
    const session = headers.get('Location');
    if (session !== null) return this.requests.continuation(url, session);
    throw this.requests.failed(
      "the server does not say the upload's address, or this page does not see it: the bucket's CORS rules have to name Location",
    );
  }

  async #append(offset: number, body: Body, total: string): Promise<number> {
    const end = offset + sizeOf(body);
    const range = end === offset ? `*/${total}` : `${offset}-${end - 1}/${total}`;
    const answer = await this.#put({ 'Content-Range': `bytes ${range}` }, body);
    return this.#endOf(answer, total, end);
  }

  #put(own: Record<string, string>, body?: Body): Promise<Answer> {
    const call = async () => ({ ...(await this.#call('PUT', own)), sees308: true, ...(body ? { body } : {}) });
    return this.requests.once(call, [...COMPLETE, INCOMPLETE]);
  }

  /** The caller's token is for beginning: it would expire before the session does. */
  async #call(method: string, own: Record<string, string>): Promise<Call> {
    const url = this.session!;
    return { method, url, headers: { ...(await this.requests.headers(url, {})), ...own } };
  }

  /** How far the server has come by its answer to a request that has sent all up to `sent`, of `total`. */
  async #endOf(answer: Answer, total: string, sent: number): Promise<number> {
    if (answer.status !== INCOMPLETE) {
      if (total === '*') throw new Error('the server says that the upload is complete before it is');
      await this.#check(answer);
      return this.#size;
    }
    const range = answer.headers.get('Range');
    if (range !== null) {
      this.#unseen = 0;
      return Number(/-(\d+)$/.exec(range)?.[1] ?? Number.NaN) + 1;
    }
    // A server that has nothing says nothing.
    if (sent > 0) this.#unseen += 1;
    if (sent > CHUNK || this.#unseen >= MOST_UNSEEN) throw new Error(UNSEEN);
    return 0;
  }

  /** Fails where the object is not what was sent. */
  async #check({ headers, text }: Answer): Promise<void> {
    const size = /"size":\s*"(\d+)"/.exec(text)?.[1];
    const digest =
      /"md5Hash":\s*"([^"]+)"/.exec(text)?.[1] ?? /md5=([\w+/=]+)/.exec(headers.get('x-goog-hash') ?? '')?.[1];
    this.#md5 ??= this.digest.take();
    const isOther = size !== undefined && Number(size) !== this.#size;
    const hasOthers = digest !== undefined && digest !== toBase64(await this.#md5);
    if (isOther || hasOthers) throw new Error('the object on the server is not the one that was uploaded');
  }
}
