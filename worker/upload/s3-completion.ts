// The end of an upload to S3: the list of its parts, and whether the object is there. An answer to the list proves nothing
// unless it has the result: what was lost, or cut off by a gateway, is asked for again, and the object is looked at.

import { bytesToHex } from '@noble/hashes/utils.js';
import { DecantError } from '../errors/errors.js';
import { RequestRefused } from '../http/http-failures.js';
import { confirm, hasSize, objectDiffers, Unfinished } from './confirmation.js';
import { md5 } from './md5.js';
import type { StoredPart } from './s3-journal.js';
import { escapeXml, resultIn } from './s3-xml.js';
import { CompletionTracker } from './uncertain-completion.js';
import type { MakeCall, UploadRequests } from './upload-requests.js';

/** The error of an upload that the server has no more, while it does not say of which object. */
const uncertain = (): DecantError =>
  new DecantError('target', 'it is not known whether the upload was completed: the server does not say what is there', {
    code: 'upload-uncertain',
  });
const NO_RESULT = 'the server does not say that it has completed the upload';

/** The error of an upload that the server has no more, and no object either. */
const uncompleted = (): DecantError =>
  new DecantError('target', 'the server has neither the upload nor an object', { code: 'upload-incomplete' });

/** By so much the server's times of one event may differ, in milliseconds: they are whole seconds. */
const CLOCK = 1000;

/** What an upload makes an object of. */
export interface Uploaded {
  parts: readonly StoredPart[];
  /** In bytes. */
  size: number;
  /** When the upload was created by the server's clock, in milliseconds since 1970; NaN where it does not say. */
  createdAt: number;
}

/** The ETag of an object made of `parts`, without quotes; `undefined` where a digest is not known. */
export async function etagOf(parts: readonly StoredPart[]): Promise<string | undefined> {
  if (!parts.every(({ digest }) => digest)) return undefined;
  const digests = parts.flatMap(({ digest }) => [...digest!]);
  return `${bytesToHex(await md5(Uint8Array.from(digests)))}-${parts.length}`;
}

/** Whether `etag` is that of the object `expected`; `undefined` where one of the two is no digest of digests. */
export function isEtagOf(expected: string | undefined, etag: string | null | undefined): boolean | undefined {
  const found = /^"?([0-9a-f]{32}-\d+)"?$/i.exec(etag ?? '')?.[1];
  return found === undefined || expected === undefined ? undefined : found.toLowerCase() === expected;
}

export class Completion {
  readonly completing = new CompletionTracker();
  /**
   * Whether no later attempt can make the object of these parts: the server has refused them, or it has made an object, or has
   * forgotten the upload.
   */
  isOver = false;

  /** `complete` makes the request for a list of parts, `head` the one for the object. */
  constructor(
    private readonly requests: UploadRequests,
    private readonly complete: (list: string) => MakeCall,
    private readonly head: MakeCall,
    private readonly uploaded: Uploaded,
  ) {}

  /** Completes the upload. Resolves to the reason why the object could not be confirmed, if it could not. */
  run(): Promise<string | undefined> {
    return this.requests.retrying(() => this.#attempt());
  }

  async #attempt(): Promise<string | undefined> {
    const wasUncertain = this.completing.mayBeDone;
    const { status, result } = await this.completing.track(() => this.#post(wasUncertain));
    if (status === 404 || result) this.isOver = true;
    if (result) return this.#confirm(result.etag);
    // An answer that is none of S3 is asked for again before the object is looked at.
    if (status === 200 && !wasUncertain) throw new Unfinished(NO_RESULT);
    return this.#find(status === 404);
  }

  /** Sends the list. Where an attempt before may have completed the upload, that may be gone. */
  async #post(mayBeDone: boolean): Promise<{ status: number; result: ReturnType<typeof resultIn> }> {
    const accepted = mayBeDone ? [200, 404] : [200];
    try {
      const { status, text } = await this.requests.once(this.complete(listOf(this.uploaded.parts)), accepted);
      return { status, result: status === 200 ? resultIn(text) : undefined };
    } catch (thrown) {
      // 200: an error in an answer that began before the server knew how it ends.
      const isLasting = ({ status, serverCode }: RequestRefused) =>
        status === 200 || status === 400 || serverCode === 'NoSuchUpload';
      this.isOver ||= thrown instanceof RequestRefused && isLasting(thrown);
      throw thrown;
    }
  }

  /** Fails where the object of the result is not made of the parts that were sent. */
  async #confirm(etag: string | undefined): Promise<string | undefined> {
    const { parts, size } = this.uploaded;
    const isRight = isEtagOf(await etagOf(parts), etag);
    if (isRight === false) throw objectDiffers();
    return isRight ? undefined : confirm(this.requests, this.head, { size });
  }

  /** Looks at the object whose completion is uncertain. An older one may have its name, and its size. */
  async #find(isGone: boolean): Promise<undefined> {
    const { parts, size, createdAt } = this.uploaded;
    const look = await this.requests.look(this.head);
    if (look === 'missing') throw isGone ? uncompleted() : new Unfinished(NO_RESULT);
    if ('refusal' in look) throw isGone ? uncertain() : new Unfinished(NO_RESULT);
    const { headers } = look;
    const changedAt = Date.parse(headers.get('Last-Modified') ?? '');
    const isNew = hasSize(headers, size) === true && changedAt >= createdAt - CLOCK;
    const isRight = isEtagOf(await etagOf(parts), headers.get('ETag')) ?? (isNew || undefined);
    if (isRight) return undefined;
    if (!isGone) throw new Unfinished(NO_RESULT);
    throw isRight === false ? objectDiffers() : uncertain();
  }
}

function listOf(parts: readonly StoredPart[]): string {
  const list = parts.map(({ etag }, at) => {
    return `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`;
  });
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${list.join('')}</CompleteMultipartUpload>`;
}
