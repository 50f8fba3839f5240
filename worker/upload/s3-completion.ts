// Completes an upload to S3. A response without a result proves nothing: a gateway may have truncated it. Then the request is
// sent again, and the object is checked.

import { DecantError } from '../errors/errors.js';
import { hexOf } from '../errors/values.js';
import { RequestRefused } from '../http/http-failures.js';
import { confirm, hasSize, isBefore, isSince, Unfinished, unconfirmed } from './confirmation.js';
import { md5 } from './digests.js';
import { escapeXml, resultIn } from './responses.js';
import type { StoredPart } from './s3-journal.js';
import { type CompletionTracker, lateCompletion } from './uncertain-completion.js';
import { objectDiffers } from './upload-errors.js';
import type { MakeCall, UploadRequests } from './upload-requests.js';

/** The upload is gone, and the server does not show the object. */
const uncertain = (): DecantError =>
  new DecantError('target', 'the upload may have been completed: the server does not show the object', {
    code: 'upload-uncertain',
  });
const NO_RESULT = 'the server does not confirm that it has completed the upload';

/** The upload is gone, and there is no object. */
const uncompleted = (): DecantError =>
  new DecantError('target', 'the server has neither the upload nor an object', { code: 'upload-incomplete' });

/** The uploaded parts of an object. */
interface Uploaded {
  parts: readonly StoredPart[];
  /** In bytes. */
  size: number;
  /** When the upload was created, by the server's clock, in milliseconds since 1970; NaN if unknown. */
  createdAt: number;
}

/** Computes the ETag of an object made of `parts`, without quotes; `undefined` if a digest is unknown. */
export async function etagOf(parts: readonly StoredPart[]): Promise<string | undefined> {
  if (!parts.every(({ digest }) => digest)) return undefined;
  const digests = parts.flatMap(({ digest }) => [...digest!]);
  return `${hexOf(await md5(Uint8Array.from(digests)))}-${parts.length}`;
}

/** Whether `etag` equals `expected`; `undefined` if one of them is not a digest of digests. */
export function isEtagOf(expected: string | undefined, etag: string | null | undefined): boolean | undefined {
  const found = /^"?([0-9a-f]{32}-\d+)"?$/i.exec(etag ?? '')?.[1];
  return found === undefined || expected === undefined ? undefined : found.toLowerCase() === expected;
}

/** Like `isEtagOf`, for any object: an ETag that is a single digest belongs to an object that was made by one PUT. */
export function isObjectOf(expected: string | undefined, etag: string | null): boolean | undefined {
  const isOfOnePut = expected !== undefined && /^"?[0-9a-f]{32}"?$/i.test(etag ?? '');
  return isEtagOf(expected, etag) ?? (isOfOnePut ? false : undefined);
}

export class Completion {
  /**
   * Whether the upload cannot be resumed: the server refused the parts, completed an object, or forgot the upload.
   */
  isOver = false;

  /** `complete` makes the request with a list of parts, `head` the one for the object. */
  constructor(
    private readonly requests: UploadRequests,
    private readonly complete: (list: string) => MakeCall,
    private readonly head: MakeCall,
    private readonly uploaded: Uploaded,
    private readonly completing: CompletionTracker,
  ) {}

  /** Completes the upload. Resolves to `undefined`, or to the reason why the object was not confirmed. */
  run(): Promise<string | undefined> {
    return this.requests.retrying(() => this.#attempt());
  }

  async #attempt(): Promise<string | undefined> {
    const wasUncertain = this.completing.mayBeDone;
    try {
      const { status, result } = await this.completing.track(() => this.#post(wasUncertain));
      if (status === 404 || result) this.isOver = true;
      if (result) return await this.#confirm(result.etag);
      // Not a response of S3: retry once before checking the object.
      if (status === 200 && !wasUncertain) throw new Unfinished(NO_RESULT);
      return await this.#find(status === 404);
    } catch (thrown) {
      if (lateCompletion(thrown) === undefined) throw thrown;
      const found = await this.#findAfterLoss(wasUncertain);
      if (!found) throw thrown;
      this.isOver = true;
      return found.unconfirmed;
    }
  }

  /** Sends the list. If an earlier attempt `mayBeDone`, the upload may be gone (404). */
  async #post(mayBeDone: boolean): Promise<{ status: number; result: ReturnType<typeof resultIn> }> {
    const accepted = mayBeDone ? [200, 404] : [200];
    try {
      const { status, text } = await this.requests.once(this.complete(listOf(this.uploaded.parts)), accepted);
      return { status, result: status === 200 ? resultIn(text) : undefined };
    } catch (thrown) {
      // 200: an error inside the response.
      const isLasting = ({ status, serverCode }: RequestRefused) =>
        status === 200 || status === 400 || serverCode === 'NoSuchUpload';
      this.isOver ||= thrown instanceof RequestRefused && isLasting(thrown);
      throw thrown;
    }
  }

  /** Fails if the object is not made of the sent parts. */
  async #confirm(etag: string | undefined): Promise<string | undefined> {
    const { parts, size, createdAt } = this.uploaded;
    const isRight = isEtagOf(await etagOf(parts), etag);
    if (isRight === false) throw objectDiffers();
    return isRight ? undefined : confirm(this.requests, this.head, { size, createdAt, ...(etag ? { etag } : {}) });
  }

  /** Checks the object after an uncertain completion. An older object may have the same name and size. */
  async #find(isGone: boolean): Promise<string | undefined> {
    const look = await this.requests.look(this.head);
    if ('missing' in look) throw isGone ? uncompleted() : new Unfinished(NO_RESULT);
    if ('refusal' in look) throw isGone ? uncertain() : new Unfinished(NO_RESULT);
    const { headers } = look;
    const found = await this.#recognise(headers);
    if (found) return found.unconfirmed;
    if (!isGone) throw new Unfinished(NO_RESULT);
    const isRight = isEtagOf(await etagOf(this.uploaded.parts), headers.get('ETag'));
    throw isRight === false ? objectDiffers() : uncertain();
  }

  /**
   * Looks once for the object after the response was lost: all further responses may be lost, too. Resolves to `undefined` if the
   * completion must be requested again. An object without the expected ETag does not count after the first loss.
   */
  async #findAfterLoss(wasUncertain: boolean): Promise<{ unconfirmed: string | undefined } | undefined> {
    const answer = await this.requests.once(this.head, [200]).catch(() => undefined);
    const found = answer && (await this.#recognise(answer.headers));
    if (!answer || !found) return undefined;
    // An equal object of an earlier upload.
    if (isBefore(answer.headers, this.uploaded.createdAt)) return undefined;
    return found.unconfirmed === undefined || wasUncertain ? found : undefined;
  }

  /** Recognises the uploaded object by its headers, perhaps without certainty. Resolves to `undefined` for another object. */
  async #recognise(headers: Headers): Promise<{ unconfirmed: string | undefined } | undefined> {
    const { parts, size, createdAt } = this.uploaded;
    const [expected, etag] = [await etagOf(parts), headers.get('ETag')];
    if (isEtagOf(expected, etag)) return { unconfirmed: undefined };
    const isNew = hasSize(headers, size) === true && isSince(headers, createdAt);
    if (!isNew || isObjectOf(expected, etag) !== undefined) return undefined;
    return { unconfirmed: unconfirmed('its response was lost, and nothing else identifies the new object') };
  }
}

function listOf(parts: readonly StoredPart[]): string {
  const list = parts.map(({ etag }, at) => {
    return `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`;
  });
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${list.join('')}</CompleteMultipartUpload>`;
}
