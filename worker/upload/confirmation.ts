// Confirms that a completed object is the one that was sent.

import { TransientFailure } from '../http/http-failures.js';
import { bareEtag } from './responses.js';
import { objectDiffers } from './upload-errors.js';
import type { MakeCall, UploadRequests } from './upload-requests.js';

/** Makes the sentence for an unconfirmed object. */
export const unconfirmed = (reason: string): string =>
  `The server accepted the upload, but did not confirm that the object is complete: ${reason}`;

/** The server has not completed the object: a retry may. */
export class Unfinished extends TransientFailure {
  override get code(): string {
    return 'upload-incomplete';
  }
}

/** The expected headers of a completed object. */
export interface ExpectedObject {
  /** In bytes. */
  size: number;
  /** The ETag in the response that completed it; `null` if it had none. */
  etag?: string | null;
  /** Checks further headers. */
  isRight?: (headers: Headers) => boolean;
  /** When the upload began, by `performance.now()`: an older object of the same size is a different one. */
  since?: number;
  /** When the upload began, by the server's clock, in milliseconds since 1970; NaN if unknown. */
  createdAt?: number;
}

/** In milliseconds: the server's times are whole seconds. */
const CLOCK = 1000;

/** Between the server's own dates, in milliseconds. */
const MAX_CLOCK_SKEW = 60_000;

/**
 * Checks the completed object by HEAD. Resolves to `undefined`, or to the reason why the server did not confirm it. Fails with
 * `object-differs` if it is a different object, and with `Unfinished` if there is none.
 */
export async function confirm(
  requests: UploadRequests,
  head: MakeCall,
  expected: ExpectedObject,
): Promise<string | undefined> {
  const look = await requests.look(head);
  if ('missing' in look)
    throw new Unfinished(`the server completed the upload, but answered ${look.missing} to HEAD: it has no object`);
  if ('refusal' in look) return unconfirmed(look.refusal);
  return compareObject(look.headers, expected);
}

/**
 * Compares the headers of an object with the expected ones. Returns `undefined`, or the reason why they do not confirm it. Fails
 * with `object-differs` if it is a different object, and with `Unfinished` if it is not complete.
 */
export function compareObject(
  headers: Headers,
  { size, etag, since, createdAt = Number.NaN, isRight = () => true }: ExpectedObject,
): string | undefined {
  const found = headers.get('ETag');
  // If this response has an ETag, one without was not from the server.
  const isForeign = etag === null && found !== null;
  if (isForeign || !isRight(headers)) throw new Unfinished('the server has not completed the object');
  const isEncoded = headers.has('Content-Encoding');
  // The server may change the ETag of an encoded response.
  if (etag && found !== null && bareEtag(found) !== bareEtag(etag) && !isEncoded) throw objectDiffers();
  if (isHtml(headers) || isBefore(headers, createdAt)) throw objectDiffers();
  const isComplete = hasSize(headers, size);
  if (isComplete === undefined) return unconfirmed('its answer to HEAD does not state the size');
  if (!isComplete || (since !== undefined && isOlder(headers, since))) throw objectDiffers();
  return undefined;
}

/** When the object was changed, by the server's clock, in milliseconds since 1970; NaN if unknown. */
const modifiedAt = (headers: Headers): number => Date.parse(headers.get('Last-Modified') ?? '');

/** Whether an object is from an upload that was created at `createdAt`, or later; both by the server's clock. */
export const isSince = (headers: Headers, createdAt: number): boolean => modifiedAt(headers) >= createdAt - CLOCK;

/** Whether an object is known to be older than an upload that was created at `createdAt`; both by the server's clock. */
export const isBefore = (headers: Headers, createdAt: number): boolean => modifiedAt(headers) < createdAt - CLOCK;

/** Whether the object existed before `since`, by its server's clock; `undefined` if its headers do not say. */
export function isOlder(headers: Headers, since: number): boolean | undefined {
  const [now, changed] = [headers.get('Date'), headers.get('Last-Modified')].map((date) => Date.parse(date ?? ''));
  const age = now! - changed!;
  return Number.isNaN(age) ? undefined : age > performance.now() - since + MAX_CLOCK_SKEW;
}

/** Whether the response is a web page, not an uploaded object. */
export const isHtml = (headers: Headers): boolean => headers.get('Content-Type')?.startsWith('text/html') === true;

/** Whether an object has `size` bytes; `undefined` if its headers do not say. */
export function hasSize(headers: Headers, size: number): boolean | undefined {
  const length = headers.get('Content-Length');
  if (length === null || !/^\d+$/.test(length)) return undefined;
  if (Number(length) === size) return true;
  // The server encodes the response, which changes its length.
  return headers.has('Content-Encoding') ? undefined : false;
}
