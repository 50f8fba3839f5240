// Whether a finished object is there as it was sent: by what its server says of it.

import { DecantError } from '../errors/errors.js';
import { TransientFailure } from '../http/http-failures.js';
import type { MakeCall, UploadRequests } from './upload-requests.js';

/** Says why a finished object could not be confirmed. */
export const unconfirmed = (reason: string): string =>
  `The server has taken the upload, and did not confirm that the object is complete: ${reason}`;

/** The error of an object that is not the one that was sent. */
export const objectDiffers = (): DecantError =>
  new DecantError('target', 'the object on the server is not the one that was uploaded', { code: 'object-differs' });

/** The server has not finished the upload: another attempt may. */
export class Unfinished extends TransientFailure {
  override get code(): string {
    return 'upload-incomplete';
  }
}

/** What the server should say of a finished object. */
export interface ExpectedObject {
  /** In bytes. */
  size: number;
  /** The ETag of the answer that completed it; `null` where that had none. */
  etag?: string | null;
  /** Whether the object is as it should be by its headers. */
  isRight?: (headers: Headers) => boolean;
  /** When the upload began, by the clock of `performance.now`: an older object of the same size is another one. */
  since?: number;
}

/** A server's clocks may differ by so much, in milliseconds. */
const MAX_CLOCK_SKEW = 60_000;

/**
 * Asks for the finished object by HEAD. Resolves to the reason why the server could not confirm it, or to `undefined` where it
 * has. Fails where it has another object, and with `Unfinished` where it has none.
 */
export async function confirm(
  requests: UploadRequests,
  head: MakeCall,
  { size, etag, since, isRight = () => true }: ExpectedObject,
): Promise<string | undefined> {
  const look = await requests.look(head);
  if (look === 'missing') throw new Unfinished('the server has completed the upload, and has no object');
  if ('refusal' in look) return unconfirmed(look.refusal);
  const { headers } = look;
  const found = headers.get('ETag');
  // An answer without an ETag was not the server's, if this one has an ETag.
  const isForeign = etag === null && found !== null;
  if (isForeign || !isRight(headers)) throw new Unfinished('the server has not done what it was asked for');
  if (etag && found !== null && bareEtag(found) !== bareEtag(etag)) throw objectDiffers();
  if (isHtml(headers)) throw objectDiffers();
  const isComplete = hasSize(headers, size);
  if (isComplete === undefined) return unconfirmed('its answer to HEAD does not state the size');
  if (!isComplete || (since !== undefined && isOlder(headers, since))) throw objectDiffers();
  return undefined;
}

/** Whether an object was there before `since`, by its server's own clock; `undefined` where its headers do not say. */
export function isOlder(headers: Headers, since: number): boolean | undefined {
  const [now, changed] = [headers.get('Date'), headers.get('Last-Modified')].map((date) => Date.parse(date ?? ''));
  const age = now! - changed!;
  return Number.isNaN(age) ? undefined : age > performance.now() - since + MAX_CLOCK_SKEW;
}

/** Whether a web page has come: an object of an upload is none. */
export const isHtml = (headers: Headers): boolean => headers.get('Content-Type')?.startsWith('text/html') === true;

/** Whether an object has `size` bytes by its headers; `undefined` where they do not say. */
export function hasSize(headers: Headers, size: number): boolean | undefined {
  const length = headers.get('Content-Length');
  if (length === null || !/^\d+$/.test(length)) return undefined;
  if (Number(length) === size) return true;
  // An encoding that the server adds has a length of its own.
  return headers.has('Content-Encoding') ? undefined : false;
}

/** Servers put an ETag in quotes in some places and not in others. */
export const bareEtag = (etag: string): string => etag.replace(/^W\//, '').replaceAll('"', '');
