// Detects changes of a file by validators: RFC 9110, section 8.8.

import { CodedFailure } from '../errors/coded-failure.js';
import type { Fields } from '../errors/errors.js';
import { hidesRange } from './range-response.js';

/** Identifies a state of a file. */
export interface FileState {
  /** In bytes. */
  size: number;
  /** As in the header, with quotes. */
  etag: string | undefined;
  modified: string | undefined;
  /** Whether every later change alters `modified`: it was at least a second old. */
  isSettled: boolean;
}

const SECOND = 1000;
/** In milliseconds. */
const MAX_CLOCK_SKEW = 60_000;

/** Returns the state of a file of `size` bytes by the headers of `response`. */
export function stateOf({ headers }: Response, size: number): FileState {
  const modified = headers.get('Last-Modified') || undefined;
  return {
    size,
    etag: headers.get('ETag') || undefined,
    modified,
    isSettled: isSettled(modified, headers.get('Date')),
  };
}

/** HTTP dates are whole seconds, so a file may change again within the same second. */
function isSettled(modified: string | undefined, date: string | null): boolean {
  if (modified === undefined) return false;
  // CORS usually hides Date.
  const age =
    date === null ? Date.now() - MAX_CLOCK_SKEW - Date.parse(modified) : Date.parse(date) - Date.parse(modified);
  return age >= SECOND;
}

const isStrong = (etag: string | undefined): boolean => etag?.startsWith('"') === true;

/** Returns validators that differ for different bytes, or `undefined` if the server sends none. */
export function provingValidators({ etag, modified, isSettled }: FileState): (string | undefined)[] | undefined {
  if (isStrong(etag)) return [etag];
  return isSettled ? [modified, etag] : undefined;
}

/** Whether a validator may show a change. */
export const hasValidator = ({ etag, modified }: FileState): boolean => etag !== undefined || modified !== undefined;

/** Fails with `SourceChanged` if `response` is of another state of the file. */
export function checkState(known: FileState, response: Response, size: number | undefined): void {
  const now = stateOf(response, size ?? known.size);
  const isOther = (name: 'etag' | 'modified') => known[name] !== undefined && now[name] !== known[name];
  const hasOtherTime = !isStrong(known.etag) && isOther('modified');
  if (now.size !== known.size || isOther('etag') || hasOtherTime) throw new SourceChanged();
}

/** Fails with `SourceChanged` if validators that both responses have differ. */
export function checkSameState(known: FileState, response: Response): void {
  const now = stateOf(response, known.size);
  const bare = (etag: string) => etag.replace(/^W\//, '');
  const [before, after] =
    known.etag !== undefined && now.etag !== undefined
      ? [bare(known.etag), bare(now.etag)]
      : [known.modified, now.modified];
  if (before !== undefined && after !== undefined && before !== after) throw new SourceChanged();
}

/** The ETag of `response` if that of the known state is missing: whether both are of the same bytes is unknown. */
export const newEtag = (known: FileState, response: Response): string | undefined =>
  known.etag === undefined ? stateOf(response, known.size).etag : undefined;

export class SourceChanged extends CodedFailure {
  readonly code = 'source-changed';
  readonly fields = {};

  constructor() {
    super('the file changed on the server while it was read; open it again');
  }
}

/** Several servers send different validators for the file. */
export class SourceAlternates extends CodedFailure {
  readonly code = 'source-alternates';
  readonly fields: Fields;

  /** `hosts` are the known servers. */
  constructor(hosts: string[]) {
    const servers =
      hosts.length > 1 ? `the servers of this address (${hosts.join(', ')})` : 'the servers of this address';
    super(
      `${servers} send different ETags or times for the file, so changes cannot be detected; give the address of one of them, or download the file and open it`,
    );
    this.fields = { hosts: hosts.join(' ') };
  }
}

/** Explains why a change of the file may go unnoticed; returns `undefined` if it may not. */
export function whyUnverified(response: Response, state: FileState, origin: string): string | undefined {
  if (hidesRange(response)) {
    return `${origin} hides headers of the file from this page, so a change of the file may go unnoticed; it can send Access-Control-Expose-Headers: Content-Range, ETag, Content-Encoding, Retry-After`;
  }
  if (provingValidators(state)) return undefined;
  return `${origin} ${missingProof(state)}, so a change of the file may go unnoticed`;
}

function missingProof({ etag, modified }: FileState): string {
  if (etag === undefined && modified === undefined) return 'sends neither an ETag nor the time of the last change';
  if (modified === undefined) return 'sends a weak ETag, which may stay the same when the file changes';
  if (Number.isNaN(Date.parse(modified))) return 'sends an invalid time of the last change';
  return 'states that the file was modified just now, in whole seconds';
}
