// What the headers of an answer say of a file and of a range of it: RFC 9110, sections 8.8, 13 and 14.

import { refusal } from './failures.js';

/** A range of bytes; `end` is the offset behind the last one. */
export interface Range {
  start: number;
  end: number;
}

/** What tells one state of a file from another. */
export interface State {
  /** In bytes. */
  size: number;
  /** A strong ETag, if there is one. */
  etag: string | undefined;
  modified: string | undefined;
}

/** Content-Range: which bytes came, of how many. `undefined` where it is missing or cannot be seen. */
function contentRange({ headers }: Response): { range: Range | undefined; size: number | undefined } | undefined {
  const value = headers.get('Content-Range');
  if (value === null) return undefined;
  const [, first, last, size] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/i.exec(value.trim()) ?? [];
  const range = first === undefined ? undefined : { start: Number(first), end: Number(last) + 1 };
  return { range, size: size === undefined || size === '*' ? undefined : Number(size) };
}

/** Whether a page of another origin sees only some of the headers. */
const hidesHeaders = ({ type }: Response): boolean => type === 'cors';

/** Content-Length, which pages of all origins see. */
export function lengthOf({ headers }: Response): number | undefined {
  const value = headers.get('Content-Length');
  return value !== null && /^\d+$/.test(value) ? Number(value) : undefined;
}

/** How the body is encoded, where it is and that can be seen. */
export function codingOf({ headers }: Response): string | undefined {
  const coding = headers.get('Content-Encoding')?.trim().toLowerCase();
  return coding === '' || coding === 'identity' ? undefined : coding;
}

/** Whether a file comes as a whole, and not empty. */
export const isWhole = (response: Response): boolean => response.status === 200 && lengthOf(response) !== 0;

/** Checks an answer to a request for `asked`. Returns which bytes come, if any, and what is known of the size. */
export function checkPart(response: Response, asked: Range): { end: number; size: number | undefined } {
  if (response.status === 200) {
    if (lengthOf(response) === 0) return { end: asked.start, size: 0 };
    throw new Error('the server sent the whole file instead of the range that it was asked for');
  }
  // 416: the file ends before the range.
  if (response.status === 416) return { end: asked.start, size: contentRange(response)?.size };
  if (response.status !== 206) throw refusal(response);
  const { headers } = response;
  const coding = codingOf(response);
  if (coding !== undefined) {
    throw new Error(`the server sends the file encoded as ${coding}, of which no range is one of the file`);
  }
  if (headers.get('Content-Type')?.startsWith('multipart/')) throw wrongPart('several parts', asked);
  const told = contentRange(response);
  if (!told && hidesHeaders(response)) return { end: asked.end, size: undefined };
  if (!told?.range) throw new Error('the server does not say which part of the file it sends (Content-Range)');
  const { start, end } = told.range;
  if (start !== asked.start || end <= start || end > asked.end) throw wrongPart(`bytes ${start} to ${end - 1}`, asked);
  return { end, size: told.size };
}

const wrongPart = (what: string, { start, end }: Range): Error =>
  new Error(`the server sent ${what} when it was asked for bytes ${start} to ${end - 1}`);

/** What `response` says of the state of a file of `size` bytes. */
export function stateOf({ headers }: Response, size: number): State {
  const etag = headers.get('ETag') ?? undefined;
  return { size, etag: etag?.startsWith('"') ? etag : undefined, modified: headers.get('Last-Modified') ?? undefined };
}

/** Fails where an answer is of another state of the file. */
export function checkState(state: State, response: Response, size: number | undefined): void {
  const now = stateOf(response, size ?? state.size);
  const isOther =
    now.size !== state.size || (state.etag === undefined ? now.modified !== state.modified : now.etag !== state.etag);
  if (isOther) throw new Changed();
}

/** The file is of another state by now. */
export class Changed extends Error {
  constructor() {
    super('the file was changed on the server while it was read; open it again');
  }
}

/** Why a change of the file could go unnoticed, as a sentence; `undefined` where it would not. */
export function unnoticed(response: Response, { etag, modified }: State, origin: string): string | undefined {
  if (hidesHeaders(response) && contentRange(response) === undefined) {
    return `${origin} does not let this page see all that it says of the file, so a change of it meanwhile may go unnoticed; it can send Access-Control-Expose-Headers: Content-Range, ETag, Content-Encoding, Retry-After`;
  }
  if (etag !== undefined || modified !== undefined) return undefined;
  return `${origin} says neither an ETag nor when the file was modified, so a change of it meanwhile may go unnoticed`;
}
