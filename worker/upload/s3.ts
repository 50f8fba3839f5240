// S3's multipart upload: parts in any order, then a list of them all.
// Amazon S3 API Reference: CreateMultipartUpload, UploadPart, CompleteMultipartUpload, AbortMultipartUpload.

import { Passing } from '../http/failures.js';
import type { TargetPlan } from '../types.js';
import { Flight } from './flight.js';
import { md5, toHex } from './md5.js';
import type { Part } from './parts.js';
import type { Answer, Requests } from './requests.js';
import { partSize } from './s3-parts.js';
import type { S3Request } from './s3-types.js';
import type { Protocol } from './target.js';

/** Parts under way at once, and the bytes that they may have together. */
const AT_ONCE = 4;
const MEMORY = 256 << 20;

/** How often a part may arrive as something else. */
const MOST_WRONG = 3;
const WRONG =
  'the server has stored other bytes than were sent; if it encrypts by keys of its own, it has to expose x-amz-server-side-encryption';
const NO_ETAG =
  "the server's answer has no ETag, or this page does not see it: the bucket's CORS rules have to expose ETag";

/** What the server calls a part, and the digest of one that it calls by its digest. */
interface StoredPart {
  etag: string;
  digest: Uint8Array | undefined;
}

export class S3 implements Protocol {
  #upload: { id: string } | undefined;
  #flight!: Flight;
  readonly #parts: StoredPart[] = [];
  #digestOfZeros: Promise<Uint8Array> | undefined;

  constructor(
    readonly requests: Requests,
    private readonly sign: (request: S3Request) => Promise<string>,
  ) {}

  async begin(plan: TargetPlan): Promise<number> {
    const size = partSize(plan);
    this.#flight = new Flight(Math.max(1, Math.min(AT_ONCE, Math.floor(MEMORY / size))));
    const { text } = await this.#ask({ action: 'create', method: 'POST', query: 'uploads=' });
    const id = /<UploadId>([^<]+)</.exec(text)?.[1];
    if (id === undefined) throw this.requests.failed('the server does not say the ID of the upload');
    this.#upload = { id: unescapeXml(id) };
    return size;
  }

  async part(part: Part): Promise<void> {
    await this.#flight.begin(() => this.#send(part));
  }

  async complete(): Promise<void> {
    await this.#flight.all();
    const { requests } = this;
    let isUncertain = false;
    const attempt = async (): Promise<void> => {
      const text = await this.#completeOnce(isUncertain).catch((thrown) => {
        isUncertain = true;
        throw thrown;
      });
      await this.#checkObject(text);
    };
    await requests.retrying(attempt);
    this.#upload = undefined;
  }

  async abort(): Promise<void> {
    const upload = this.#upload;
    const request = { action: 'abort', method: 'DELETE', query: upload ? this.#query() : '' } as const;
    await this.requests.end(upload && (async () => ({ method: request.method, url: await this.sign(request) })));
  }

  async #send(part: Part): Promise<void> {
    const digest = await this.#digestOf(part);
    const query = `partNumber=${part.number + 1}&${this.#query()}`;
    const request = { action: 'part', method: 'PUT', query, partNumber: part.number + 1 } as const;
    const call = async () => ({ method: request.method, url: await this.sign(request), body: part.bytes });
    for (let attempt = 1; ; attempt += 1) {
      const { headers } = await this.requests.send(call, [200]);
      const stored = this.#stored(headers, digest);
      if (stored) {
        this.#parts[part.number] = stored;
        return;
      }
      if (attempt === MOST_WRONG) throw this.requests.failed(WRONG);
    }
  }

  /** What `headers` say of a part; `undefined` where the server has stored something else than was sent. */
  #stored(headers: Headers, digest: Uint8Array): StoredPart | undefined {
    const etag = headers.get('ETag');
    if (etag === null) throw this.requests.failed(NO_ETAG);
    const hex = /^"([0-9a-f]{32})"$/i.exec(etag)?.[1];
    // With keys of its own it calls parts by something else.
    const isDigest = hex !== undefined && !headers.get('x-amz-server-side-encryption')?.startsWith('aws:kms');
    if (!isDigest) return { etag, digest: undefined };
    return hex.toLowerCase() === toHex(digest) ? { etag, digest } : undefined;
  }

  #digestOf({ bytes, isZero, isLast }: Part): Promise<Uint8Array> {
    if (!isZero || isLast) return md5(bytes);
    this.#digestOfZeros ??= md5(bytes);
    return this.#digestOfZeros;
  }

  /** Resolves to what the server says of the object; `undefined` where an attempt before has completed it. */
  async #completeOnce(isUncertain: boolean): Promise<string | undefined> {
    const request = { action: 'complete', method: 'POST', query: this.#query() } as const;
    const list = this.#parts.map(({ etag }, at) => {
      return `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`;
    });
    const body = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${list.join('')}</CompleteMultipartUpload>`;
    const headers = { 'Content-Type': 'application/xml' };
    const call = async () => ({ method: request.method, url: await this.sign(request), headers, body });
    const { status, text } = await this.requests.once(call, isUncertain ? [200, 404] : [200]);
    if (status === 404) return undefined;
    // An answer begins before it is known how it ends.
    const error = /<Error>.*?<Code>([^<]*)</s.exec(text)?.[1];
    if (error !== undefined) throw new Passing(`the server could not complete the upload (${error})`);
    return text;
  }

  /** Fails where the object is not made of the parts that were sent. `text` is what the server has said of it. */
  async #checkObject(text: string | undefined): Promise<void> {
    const etag = text === undefined ? await this.#etagOfObject() : /<ETag>([^<]*)</.exec(text)?.[1];
    const found = /^"?([0-9a-f]{32})-(\d+)"?$/i.exec(unescapeXml(etag ?? ''));
    if (!found) {
      if (text !== undefined) return;
      throw new Error('it is not known whether the upload was completed: the server does not say what is there');
    }
    const count = Number(found[2]);
    const digests = this.#parts.flatMap(({ digest }) => (digest ? [...digest] : []));
    const isAllKnown = this.#parts.every(({ digest }) => digest);
    const digest = isAllKnown ? toHex(await md5(Uint8Array.from(digests))) : found[1]!.toLowerCase();
    if (count === this.#parts.length && digest === found[1]!.toLowerCase()) return;
    throw new Error('the object on the server is not the one that was uploaded');
  }

  async #etagOfObject(): Promise<string | undefined> {
    const request = { action: 'head', method: 'HEAD', query: '' } as const;
    const call = async () => ({ method: request.method, url: await this.sign(request) });
    const { headers } = await this.requests.once(call, [200]);
    return headers.get('ETag') ?? undefined;
  }

  #query(): string {
    return `uploadId=${encodeURIComponent(this.#upload!.id)}`;
  }

  #ask(request: S3Request): Promise<Answer> {
    return this.requests.send(async () => ({ method: request.method, url: await this.sign(request) }), [200]);
  }
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

const unescapeXml = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&quot;', '"').replaceAll('&#34;', '"').replaceAll('&amp;', '&');
