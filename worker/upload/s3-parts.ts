// Parts of uploads to S3: their sizes, and whether the server stored the bytes that were sent. All parts have one size, as some
// servers require, unless an output of unknown size would need too many parts.

import { hexOf } from '../errors/values.js';
import { NoAnswer, RequestRefused } from '../http/http-failures.js';
import type { TargetPlan } from '../public/types.js';
import { tooLarge } from './ascending-target.js';
import { matchesChecksum } from './checksums.js';
import { unconfirmed } from './confirmation.js';
import { toBase64 } from './digests.js';
import type { PartSize } from './part-cutter.js';
import { type Body, isNode } from './request-body.js';
import type { StoredPart } from './s3-journal.js';
import { lacksHeader } from './upload-errors.js';
import type { UploadCall } from './upload-exchange.js';
import type { UploadRequests, UploadResponse } from './upload-requests.js';

/** Amazon S3 User Guide, "Multipart upload limits". */
const MOST_PARTS = 10_000;
/** The size of the smallest parts, in bytes. */
export const SMALLEST_PART = 8 << 20;
/** The size of the largest parts, in bytes: parts are held in memory while they are sent. */
const LARGEST = 512 << 20;
/** For an unknown size. */
const UNKNOWN = 64 << 20;
/** From this part on, an output of unknown size has the largest parts: 1.4 TiB fit. */
const GROWN = 8_000;
/** Compressed data may be this much larger than the disk. */
const OVERHEAD = 1.01;

/** Returns the part size in bytes. Fails if the output is too large. */
export function partSize({ outputSize, virtualSize }: TargetPlan): number {
  const most = outputSize ?? (virtualSize === undefined ? undefined : virtualSize * OVERHEAD + SMALLEST_PART);
  if (most === undefined) return UNKNOWN;
  const needed = Math.ceil(most / MOST_PARTS / SMALLEST_PART) * SMALLEST_PART;
  if (needed > LARGEST) {
    throw tooLarge(
      `An upload to S3 can have at most ${LARGEST * MOST_PARTS} bytes, but the output may have ${Math.ceil(most)}`,
    );
  }
  return Math.max(SMALLEST_PART, needed);
}

/** Returns the part sizes of an output of unknown size, starting with `size` bytes. */
export const growingSize =
  (size: number): PartSize =>
  (number) =>
    number < GROWN ? size : LARGEST;

/** Fails if `number` exceeds the maximum. `offset` bytes were sent. */
export function requireRoom(number: number, offset: number): void {
  if (number < MOST_PARTS) return;
  throw tooLarge(`An upload to S3 can have at most ${MOST_PARTS} parts, here ${offset} bytes`);
}

/** Codes for a body that does not match its digest. */
const DIGEST_ERRORS = ['BadDigest', 'InvalidDigest'];
/** Attempts for a part that is stored with other bytes. */
const MAX_DIFFERING = 3;
/** Attempts with a header that CORS rules may not allow: a page cannot distinguish this from a broken network. */
const MAX_UNANSWERED = 3;
const WRONG = 'the server stored other bytes than were sent';
const HIDDEN = '; if it encrypts with its own keys, its CORS rules must expose x-amz-server-side-encryption';

/** Makes the request for a part, with further headers. */
type MakePartCall = (headers?: Record<string, string>) => Promise<UploadCall>;

/**
 * How a response proves the stored bytes: the ETag is the `digest` of the sent bytes; a `checksum` matches; they are
 * `different`; the ETag looks like `another` digest; or nothing.
 */
type PartMatch = 'digest' | 'checksum' | 'different' | 'another' | 'nothing';

/** Why an object with `parts` is unconfirmed; `undefined` if the stored bytes of all parts were checked. */
export const uncheckedParts = (parts: readonly StoredPart[]): string | undefined =>
  parts.some(({ isUnchecked }) => isUnchecked)
    ? unconfirmed('its responses do not identify the bytes of the parts, and it does not accept Content-MD5')
    : undefined;

export class PartSender {
  /**
   * `needed`: parts are sent with their digests from the first attempt, since responses do not identify the stored bytes.
   * `refused`: the server does not accept digests either.
   */
  #digests: 'unneeded' | 'needed' | 'refused' = 'unneeded';

  constructor(private readonly requests: UploadRequests) {}

  /**
   * Sends `body`, whose MD5 digest is `digest`. With `mustProve`, a part counts as checked only if the response can be that of its bytes.
   * Fails with `part-differs` if the server repeatedly stores other bytes.
   */
  async send(call: MakePartCall, body: Body, digest: Uint8Array, mustProve: boolean): Promise<StoredPart> {
    let unchecked: StoredPart | undefined;
    for (let attempt = 1; attempt <= MAX_DIFFERING; attempt += 1) {
      const withDigest = attempt > 1 || this.#digests === 'needed';
      const answer = await (withDigest
        ? this.#sendWithDigest(call, digest, unchecked !== undefined)
        : this.requests.send(call, [200]));
      if (answer === 'refused') {
        this.#digests = 'refused';
        return unchecked!;
      }
      unchecked = undefined;
      if (!answer) continue;
      const etag = this.#etagOf(answer);
      const verdict = await verdictOf(answer, etag, body, digest);
      if (verdict === 'different') continue;
      if (verdict === 'digest' || verdict === 'checksum')
        return { etag, digest: verdict === 'digest' ? digest : undefined };
      if (withDigest) {
        this.#digests = 'needed';
        // Node sees whether the server encrypts. If not, the ETag is that of the stored bytes, whatever the server has received.
        const isDoubtful = mustProve && verdict === 'another' && isNode();
        return { etag, digest: undefined, ...(isDoubtful && { isUnchecked: true }) };
      }
      if (verdict === 'another') continue;
      unchecked = { etag, digest: undefined, isUnchecked: true };
      if (this.#digests === 'refused') return unchecked;
    }
    throw this.requests.failed(isNode() ? WRONG : WRONG + HIDDEN, { code: 'part-differs' });
  }

  /**
   * Sends a part with its digest for the server to check. Resolves to `undefined` if it does not match. If the part is already
   * stored unchecked, resolves to `refused` if the server, or its CORS rules, do not accept the digest.
   */
  async #sendWithDigest(
    call: MakePartCall,
    digest: Uint8Array,
    isStored: boolean,
  ): Promise<UploadResponse | 'refused' | undefined> {
    const checked = () => call({ 'Content-MD5': toBase64(digest) });
    let unanswered = 0;
    const attempt = async () => {
      try {
        return await this.requests.once(checked, [200]);
      } catch (thrown) {
        const isRefused = thrown instanceof RequestRefused;
        if (isRefused && DIGEST_ERRORS.includes(thrown.serverCode ?? '')) return undefined;
        // The server has accepted digests before.
        if (this.#digests === 'needed') throw thrown;
        if (isRefused && isStored) return 'refused';
        if (!(thrown instanceof NoAnswer) || typeof document === 'undefined') throw thrown;
        if (!isStored) return undefined;
        unanswered += 1;
        if (unanswered < MAX_UNANSWERED) throw thrown;
        return 'refused';
      }
    };
    return this.requests.retrying(attempt);
  }

  #etagOf({ status, headers }: UploadResponse): string {
    const etag = headers.get('ETag');
    if (etag !== null) return etag;
    throw this.requests.failed(`the server does not identify a stored part: ${lacksHeader(status, 'ETag')}`);
  }
}

async function verdictOf(
  { headers }: UploadResponse,
  etag: string,
  body: Body,
  digest: Uint8Array,
): Promise<PartMatch> {
  const hex = /^"([0-9a-f]{32})"$/i.exec(etag)?.[1]?.toLowerCase();
  // With KMS or customer keys, ETags are not digests.
  const isEncrypted =
    headers.get('x-amz-server-side-encryption')?.startsWith('aws:kms') === true ||
    headers.has('x-amz-server-side-encryption-customer-algorithm');
  if (!isEncrypted && hex === hexOf(digest)) return 'digest';
  const matches = await matchesChecksum(headers, body);
  if (matches !== undefined) return matches ? 'checksum' : 'different';
  return isEncrypted || hex === undefined ? 'nothing' : 'another';
}
