// What the headers of an answer say of a range of a file: RFC 9110, sections 8.4 and 14.

import type { Fields } from '../errors/errors.js';
import { failureOf, HttpFailure } from './http-failures.js';

/** A range of bytes; `end` is the offset behind the last one. */
export interface ByteRange {
  start: number;
  end: number;
}

/** So many digits of a number that is too large are shown. */
const MAX_DIGITS = 40;

/** Content-Range: which bytes came, of how many. `undefined` where it is missing or cannot be seen. */
function contentRange({ headers }: Response): { range: ByteRange | undefined; size: number | undefined } | undefined {
  const value = headers.get('Content-Range');
  if (value === null) return undefined;
  const [, first, last, size] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/i.exec(value.trim()) ?? [];
  const range = first === undefined ? undefined : { start: Number(first), end: Number(last) + 1 };
  return { range, size: size === undefined || size === '*' ? undefined : sizeIn(size) };
}

/** The size of a file by the number in a header. Fails where no file has so many bytes. */
function sizeIn(value: string): number {
  const size = Number(value);
  if (Number.isSafeInteger(size)) return size;
  throw new Error(`the server says that the file has ${value.slice(0, MAX_DIGITS)} bytes, which no file has`);
}

/** Whether a page of another origin sees only some of the headers. */
const hidesHeaders = ({ type }: Response): boolean => type === 'cors';

/** Whether a page of another origin cannot see which bytes came. */
export const hidesRange = (response: Response): boolean => hidesHeaders(response) && !contentRange(response);

/** Content-Length, which pages of all origins see. */
export function contentLength({ headers }: Response): number | undefined {
  const value = headers.get('Content-Length');
  return value !== null && /^\d+$/.test(value) ? sizeIn(value) : undefined;
}

/** What is in use as a coding and encodes nothing: stores send what an upload has left there. */
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

/** How the body is encoded, where it is and that can be seen. */
export function contentCoding({ headers }: Response): string | undefined {
  const codings = (headers.get('Content-Encoding') ?? '').toLowerCase().split(',');
  return (
    codings
      .map((coding) => coding.trim())
      .filter((coding) => !NOT_CODINGS.has(coding))
      .join(', ') || undefined
  );
}

/** Whether a file comes as a whole, and not empty. */
export const isWholeFile = (response: Response): boolean => response.status === 200 && contentLength(response) !== 0;

/** The file as it is sent is encoded, so that no range of it is one of the file. */
export class EncodedFile extends HttpFailure {
  readonly code = 'content-encoded';
  readonly fields: Fields;

  constructor(coding: string) {
    super(
      `the server sends the file encoded as ${coding}, of which no range is one of the file; have it served without Content-Encoding, or download it and open the file`,
    );
    this.fields = { coding };
  }
}

/** The body of an answer has another length than the range that it states. */
export class WrongLength extends Error {
  constructor(length: number, { start, end }: ByteRange) {
    super(
      `the server says that it sends bytes ${start} to ${end - 1}, which are ${end - start}, and that these are ${length} bytes (Content-Length)`,
    );
  }
}

/**
 * Checks an answer to a request for `asked`. Returns which bytes come, if any, and what is known of the size. `who` has
 * answered.
 */
export function checkRangeResponse(
  response: Response,
  asked: ByteRange,
  who?: string,
): { end: number; size: number | undefined } {
  if (response.status === 200) {
    if (contentLength(response) === 0) return { end: asked.start, size: 0 };
    throw new Error('the server sent the whole file instead of the range that it was asked for');
  }
  // 416: the file ends before the range.
  if (response.status === 416) return { end: asked.start, size: contentRange(response)?.size };
  if (response.status !== 206) throw failureOf(response, undefined, who);
  const { headers } = response;
  const coding = contentCoding(response);
  if (coding !== undefined) throw new EncodedFile(coding);
  if (headers.get('Content-Type')?.startsWith('multipart/')) throw wrongRange('several parts', asked);
  const told = contentRange(response);
  if (!told && hidesHeaders(response)) return { end: asked.end, size: undefined };
  if (!told?.range) throw new Error('the server does not say which part of the file it sends (Content-Range)');
  const { start, end } = told.range;
  if (start !== asked.start || end <= start || end > asked.end) throw wrongRange(`bytes ${start} to ${end - 1}`, asked);
  const length = contentLength(response);
  // Other origins need not say that what travels is encoded.
  if (length !== undefined && length !== end - start && !hidesHeaders(response))
    throw new WrongLength(length, told.range);
  return { end, size: told.size };
}

const wrongRange = (what: string, { start, end }: ByteRange): Error =>
  new Error(`the server sent ${what} when it was asked for bytes ${start} to ${end - 1}`);
