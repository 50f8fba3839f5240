// Headers of responses to range requests: RFC 9110, sections 8.4 and 14.

import type { Fields } from '../errors/errors.js';
import { CodedFailure } from '../errors/errors.js';
import { type Explanation, failureOf } from './http-failures.js';
import type { ByteRange } from './ranges.js';

/** How many digits of an oversized number messages show. */
const MAX_DIGITS = 40;

/** Parses Content-Range. Returns `undefined` if it is missing or hidden. */
function contentRange({ headers }: Response): { range: ByteRange | undefined; size: number | undefined } | undefined {
  const value = headers.get('Content-Range');
  if (value === null) return undefined;
  const [, first, last, size] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/i.exec(value.trim()) ?? [];
  const range = first === undefined ? undefined : { start: Number(first), end: Number(last) + 1 };
  return { range, size: size === undefined || size === '*' ? undefined : sizeIn(size) };
}

/** Parses a file size. Fails above 2^53-1. */
function sizeIn(value: string): number {
  const size = Number(value);
  if (Number.isSafeInteger(size)) return size;
  throw new Error(`the server states an impossible file size: ${value.slice(0, MAX_DIGITS)} bytes`);
}

/** Whether the browser shows this page only the exposed headers of another origin. */
const hidesHeaders = ({ type }: Response): boolean => type === 'cors';

/** Whether the browser hides Content-Range from this page. */
export const hidesRange = (response: Response): boolean => hidesHeaders(response) && !contentRange(response);

/** Content-Length, which is visible across origins. */
export function contentLength({ headers }: Response): number | undefined {
  const value = headers.get('Content-Length');
  return value !== null && /^\d+$/.test(value) ? sizeIn(value) : undefined;
}

/** Values of Content-Encoding that encode nothing: stores return the value that an upload set. */
const NOT_CODINGS = new Set(
  ['', 'identity', 'none', 'null', 'undefined', 'binary', 'raw', '7bit', '8bit', 'aws-chunked'].concat([
    'ascii',
    'us-ascii',
    'iso-8859-1',
    'utf8',
    'utf-8',
    'utf-16',
  ]),
);

/** Returns the visible encodings of the body, or `undefined` for none. */
export function contentCoding({ headers }: Response): string | undefined {
  const codings = (headers.get('Content-Encoding') ?? '').toLowerCase().split(',');
  return (
    codings
      .map((coding) => coding.trim())
      .filter((coding) => !NOT_CODINGS.has(coding))
      .join(', ') || undefined
  );
}

/** Whether the response has a whole file that is not empty. */
export const isWholeFile = (response: Response): boolean => response.status === 200 && contentLength(response) !== 0;

/** The server encodes the file, so its ranges are not ranges of the file. */
export class EncodedFile extends CodedFailure {
  readonly code = 'content-encoded';
  readonly fields: Fields;

  /** Whether the stored bytes can be read in place of the decoded ones. */
  readonly isGzip: boolean;

  constructor(coding: string, reason = 'so its parts cannot be read') {
    super(
      `the server sends the file encoded as ${coding}, ${reason}; serve it without Content-Encoding, or download it and open the file`,
    );
    this.fields = { coding };
    // Stored bytes of another encoding could be taken for a raw disk.
    this.isGzip = /^(x-)?gzip$/.test(coding);
  }
}

/** Content-Length and Content-Range disagree. */
export class WrongLength extends Error {
  constructor(length: number, { start, end }: ByteRange) {
    super(
      `the server states ${end - start} bytes, ${start} to ${end - 1}, in Content-Range, but ${length} bytes in Content-Length`,
    );
  }
}

/**
 * Checks a response to a request for `requested`. Returns the end of the bytes that it has (`requested.start` for none) and the size
 * of the file, if stated. Failures are explained as `failureOf` does.
 */
export function checkRangeResponse(
  response: Response,
  requested: ByteRange,
  explained: Explanation = {},
): { end: number; size: number | undefined } {
  if (response.status === 200) {
    if (contentLength(response) === 0) return { end: requested.start, size: 0 };
    throw new Error('the server sent the whole file instead of the requested range');
  }
  // 416: the file ends before the range.
  if (response.status === 416) return { end: requested.start, size: contentRange(response)?.size };
  if (response.status !== 206) throw failureOf(response, explained);
  const { headers } = response;
  const coding = contentCoding(response);
  if (coding !== undefined) throw new EncodedFile(coding);
  if (headers.get('Content-Type')?.startsWith('multipart/')) throw wrongRange('several parts', requested);
  const stated = contentRange(response);
  if (!stated && hidesHeaders(response)) return { end: requested.end, size: undefined };
  if (!stated?.range) throw new Error('the server does not state which part of the file it sends (Content-Range)');
  const { start, end } = stated.range;
  if (start !== requested.start || end <= start || end > requested.end)
    throw wrongRange(`bytes ${start} to ${end - 1}`, requested);
  const length = contentLength(response);
  // Another origin may hide an encoding in transit, which changes the length.
  if (length !== undefined && length !== end - start && !hidesHeaders(response))
    throw new WrongLength(length, stated.range);
  return { end, size: stated.size };
}

const wrongRange = (what: string, { start, end }: ByteRange): Error =>
  new Error(`the server sent ${what} instead of bytes ${start} to ${end - 1}`);
