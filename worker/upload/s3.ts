// S3's multipart upload: parts in any order, then a list of them all.
// Amazon S3 API Reference: CreateMultipartUpload, UploadPart, ListParts, CompleteMultipartUpload, AbortMultipartUpload.

import { bytesToHex } from '@noble/hashes/utils.js';
import { Passing, Refused } from '../http/failures.js';
import type { TargetPlan } from '../types.js';
import { Flight } from './flight.js';
import { Digest, md5 } from './md5.js';
import type { Part } from './parts.js';
import type { Answer, Call, Requests } from './requests.js';
import type { LeftUpload, S3Journal, StoredPart } from './s3-journal.js';
import { partSize } from './s3-parts.js';
import { askingFor } from './s3-requests.js';
import type { S3Request } from './s3-types.js';
import type { Protocol, UploadBegun } from './target.js';

/** Parts under way at once, and the bytes that they may have together. */
const AT_ONCE = 4;
const MEMORY = 256 << 20;

/** The server does not know the upload, or does not know how to tell what it has. */
const NOT_LISTED = [404, 405, 501];

/** How often a part may arrive as something else. */
const MOST_WRONG = 3;
const WRONG =
  'the server has stored other bytes than were sent; if it encrypts by keys of its own, it has to expose x-amz-server-side-encryption';
const UNCERTAIN = 'it is not known whether the upload was completed: the server does not say what is there';
const NO_ETAG =
  "the server's answer has no ETag, or this page does not see it: the bucket's CORS rules have to expose ETag";

export class S3 implements Protocol {
  #upload: { id: string } | undefined;
  #flight!: Flight;
  readonly #parts: StoredPart[] = [];
  readonly digest = new Digest();
  /** Whether the server has refused to make the object of its parts: to go on with them would be of no use. */
  #isRefused = false;
  /** Whether the journal tells of this upload. */
  #isNoted = false;
  begun: UploadBegun | undefined;

  /** With a journal it can go on with an upload that was cut off. */
  constructor(
    readonly requests: Requests,
    private readonly sign: (request: S3Request) => Promise<string>,
    private readonly journal: S3Journal | undefined,
    private readonly partSizeOf = partSize,
  ) {}

  get resumes(): boolean {
    return this.journal !== undefined;
  }

  async begin(plan: TargetPlan): Promise<number> {
    const size = this.partSizeOf(plan);
    this.#flight = new Flight(Math.max(1, Math.min(AT_ONCE, Math.floor(MEMORY / size))));
    const left = await this.#left(plan.identity);
    if (left && (await this.#goOn(left, size, plan))) return size;
    const { text } = await this.#ask({ action: 'create' }, [200]);
    const id = /<UploadId>([^<]+)</.exec(text)?.[1];
    if (id === undefined) throw this.requests.failed('the server does not say the ID of the upload');
    this.#upload = { id: unescapeXml(id) };
    // Not before: where nothing can be begun, what is left stays as it is.
    if (left) await this.#remove(left);
    const { identity } = plan;
    if (identity !== undefined) {
      this.#isNoted = true;
      await this.journal?.begin({ identity, size, ...this.#upload });
    }
    return size;
  }

  async part(part: Part): Promise<void> {
    const digest = await this.digest.take();
    await this.#flight.begin(() => this.#send(part, digest));
  }

  async complete(): Promise<void> {
    await this.#flight.all();
    const { requests } = this;
    let isUncertain = false;
    const attempt = async (): Promise<void> => {
      const text = await this.#completeOnce(isUncertain).catch((thrown) => {
        isUncertain = true;
        this.#isRefused = thrown instanceof Refused && thrown.status === 400;
        throw thrown;
      });
      await this.#checkObject(text);
    };
    await requests.retrying(attempt);
    this.#upload = undefined;
    await this.journal?.clear();
  }

  async abort(keep: boolean): Promise<boolean> {
    const isBegun = this.#upload !== undefined;
    const isKept = keep && isBegun && this.#isNoted && !this.#isRefused && this.journal?.hasAny === true;
    await this.journal?.end();
    // First: the next upload may have begun with the journal when the server has answered. What it tells of one that was not
    // even looked at stays.
    if (isBegun && this.#isNoted && !isKept) await this.journal?.clear();
    await this.requests.end(isBegun && !isKept ? () => this.#call(this.#removal()) : undefined);
    return isKept;
  }

  /** Goes on with the upload that is `left`, if it is this one's and still there. */
  async #goOn(left: LeftUpload, size: number, { identity, virtualSize = 0 }: TargetPlan): Promise<boolean> {
    this.#upload = { id: left.id };
    this.#isNoted = true;
    const there = left.identity === identity && left.size === size ? await this.#countThere(left) : 0;
    // An output may have more than the disk.
    const count = Math.min(there, Math.floor(virtualSize / size));
    if (count > 0) {
      this.#parts.push(...left.parts.slice(0, count));
      this.begun = { parts: count, written: left.written[count - 1]! };
      return true;
    }
    this.#upload = undefined;
    this.#isNoted = false;
    return false;
  }

  /** Has the server forget an upload that is left. Where it does not, a rule of the bucket removes that. */
  async #remove({ id }: LeftUpload): Promise<void> {
    await this.#ask(this.#removal(id), [200, 204, 404]).catch(() => {});
    await this.journal!.clear();
  }

  /** What the journal tells of. Without `resume` one that cannot be read counts as empty. */
  async #left(identity: string | undefined): Promise<LeftUpload | undefined> {
    try {
      return await this.journal?.read();
    } catch (thrown) {
      if (identity !== undefined) throw thrown;
      return undefined;
    }
  }

  /** How many of the parts that were noted the server has, from the first one on. It lists them in pages. */
  async #countThere({ parts, size }: LeftUpload): Promise<number> {
    for (let count = 0; ; ) {
      const list: S3Request = { action: 'list', ...this.#named, partNumberMarker: count };
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

  async #send(part: Part, digest: Uint8Array): Promise<void> {
    const request: S3Request = { action: 'part', ...this.#named, partNumber: part.number + 1 };
    const call = async () => ({ ...(await this.#call(request)), body: part.body });
    for (let attempt = 1; ; attempt += 1) {
      const { headers } = await this.requests.send(call, [200]);
      const stored = this.#stored(headers, digest);
      if (stored) {
        this.#parts[part.number] = stored;
        // A later conversion sends at least the last part: it has the end of the output.
        if (!part.isLast) await this.journal?.add(part.number, stored, part.written);
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
    return hex.toLowerCase() === bytesToHex(digest) ? { etag, digest } : undefined;
  }

  /** Resolves to what the server says of the object; `undefined` where an attempt before has completed it. */
  async #completeOnce(isUncertain: boolean): Promise<string | undefined> {
    const request: S3Request = { action: 'complete', ...this.#named };
    const list = this.#parts.map(({ etag }, at) => {
      return `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`;
    });
    const body = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${list.join('')}</CompleteMultipartUpload>`;
    const headers = { 'Content-Type': 'application/xml' };
    const call = async () => ({ ...(await this.#call(request)), headers, body });
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
      throw new Error(UNCERTAIN);
    }
    const count = Number(found[2]);
    const digests = this.#parts.flatMap(({ digest }) => (digest ? [...digest] : []));
    const isAllKnown = this.#parts.every(({ digest }) => digest);
    // An older object may have as many parts.
    if (!isAllKnown && text === undefined) throw new Error(UNCERTAIN);
    const digest = isAllKnown ? bytesToHex(await md5(Uint8Array.from(digests))) : found[1]!.toLowerCase();
    if (count === this.#parts.length && digest === found[1]!.toLowerCase()) return;
    throw new Error('the object on the server is not the one that was uploaded');
  }

  async #etagOfObject(): Promise<string | undefined> {
    const { headers } = await this.requests.once(() => this.#call({ action: 'head' }), [200]);
    return headers.get('ETag') ?? undefined;
  }

  /** The upload, as requests name it. */
  get #named(): { uploadId: string } {
    return { uploadId: this.#upload!.id };
  }

  #ask(request: S3Request, accepted: readonly number[]): Promise<Answer> {
    return this.requests.send(() => this.#call(request), accepted);
  }

  async #call(request: S3Request): Promise<Call> {
    return { method: askingFor(request).method, url: await this.sign(request) };
  }
}

/** A part as a server lists it. */
interface ListedPart {
  etag: string | undefined;
  size: number;
}

/** The parts of an answer to ListParts, by their numbers. Some servers leave the order or the ETags out. */
function partsIn(text: string): Map<number, ListedPart> {
  const fieldOf = (part: string, name: string) => new RegExp(`<${name}>([^<]*)<`).exec(part)?.[1];
  const parts = [...text.matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = '']) => {
    const etag = fieldOf(part, 'ETag');
    const listed = { etag: etag && bare(unescapeXml(etag)), size: Number(fieldOf(part, 'Size')) };
    return [Number(fieldOf(part, 'PartNumber')), listed] as const;
  });
  return new Map(parts);
}

/** Whether a part is there as it was noted. Where no ETag is listed, the server compares them when it completes the upload. */
const isPart = (listed: ListedPart | undefined, { etag }: StoredPart, size: number): boolean =>
  listed !== undefined && listed.size === size && (listed.etag ?? bare(etag)) === bare(etag);

/** Servers put it in quotes in some places and not in others. */
const bare = (etag: string): string => etag.replaceAll('"', '');

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

const unescapeXml = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&quot;', '"').replaceAll('&#34;', '"').replaceAll('&amp;', '&');
