// Which state of a file an answer is of, and how certain that is: RFC 9110, section 8.8.

import type { Fields } from '../errors/errors.js';
import { HttpFailure } from './http-failures.js';
import { hidesRange } from './range-response.js';

/** What tells one state of a file from another. */
export interface FileState {
  /** In bytes. */
  size: number;
  /** As it stands in the answer. */
  etag: string | undefined;
  modified: string | undefined;
  /** Whether `modified` changes with every later change: it was at least a second old. */
  isSettled: boolean;
}

const SECOND = 1000;
/** How far the clocks of two machines may differ, in milliseconds. */
const MAX_CLOCK_SKEW = 60_000;

/** What `response` says of the state of a file of `size` bytes. */
export function stateOf({ headers }: Response, size: number): FileState {
  const modified = headers.get('Last-Modified') || undefined;
  return {
    size,
    etag: headers.get('ETag') || undefined,
    modified,
    isSettled: isSettled(modified, headers.get('Date')),
  };
}

/** Times have no fraction of a second, so a file may change once more within the one in which it was changed. */
function isSettled(modified: string | undefined, date: string | null): boolean {
  if (modified === undefined) return false;
  // Pages of other origins seldom see the server's clock.
  const age =
    date === null ? Date.now() - MAX_CLOCK_SKEW - Date.parse(modified) : Date.parse(date) - Date.parse(modified);
  return age >= SECOND;
}

const isStrong = (etag: string | undefined): boolean => etag?.startsWith('"') === true;

/** What is the same for the same bytes only; `undefined` where the server says nothing of that kind. */
export function provingValidators({ etag, modified, isSettled }: FileState): (string | undefined)[] | undefined {
  if (isStrong(etag)) return [etag];
  return isSettled ? [modified, etag] : undefined;
}

/** Whether it says anything by which a change may show. */
export const hasValidator = ({ etag, modified }: FileState): boolean => etag !== undefined || modified !== undefined;

/** Fails with `Changed` where an answer is of another state of the file. */
export function checkState(known: FileState, response: Response, size: number | undefined): void {
  const now = stateOf(response, size ?? known.size);
  const isOther = (name: 'etag' | 'modified') => known[name] !== undefined && now[name] !== known[name];
  const hasOtherTime = !isStrong(known.etag) && isOther('modified');
  if (now.size !== known.size || isOther('etag') || hasOtherTime) throw new SourceChanged();
}

/** The file is of another state by now. */
export class SourceChanged extends HttpFailure {
  readonly code = 'source-changed';
  readonly fields = {};

  constructor() {
    super('the file was changed on the server while it was read; open it again');
  }
}

/** Several servers have the file, with validators of their own. */
export class SourceAlternates extends HttpFailure {
  readonly code = 'source-alternates';
  readonly fields: Fields;

  /** `hosts` are those that are known. */
  constructor(hosts: string[]) {
    const who =
      hosts.length > 1 ? `${hosts.join(' and ')}, to which the address leads,` : 'the servers of this address';
    super(
      `${who} give different ETags or times for the file, so nothing tells whether it was changed; give the address of one of them, or download the file and open that`,
    );
    this.fields = { hosts: hosts.join(' ') };
  }
}

/** Why a change of the file could go unnoticed, as a sentence; `undefined` where it would not. */
export function whyUnverified(response: Response, state: FileState, origin: string): string | undefined {
  if (hidesRange(response)) {
    return `${origin} does not let this page see all that it says of the file, so a change of it meanwhile may go unnoticed; it can send Access-Control-Expose-Headers: Content-Range, ETag, Content-Encoding, Retry-After`;
  }
  if (provingValidators(state)) return undefined;
  return `${origin} ${missingProof(state)}, so a change of it meanwhile may go unnoticed`;
}

function missingProof({ etag, modified }: FileState): string {
  if (etag === undefined && modified === undefined) return 'says neither an ETag nor when the file was modified';
  if (modified === undefined) return 'has a weak ETag for the file, which may stay when the file changes';
  if (Number.isNaN(Date.parse(modified))) return 'does not say clearly when the file was modified';
  return 'says that the file was modified just now, and tells times by the second';
}
