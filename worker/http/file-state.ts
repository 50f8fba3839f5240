// The state of a file on a server: its validators (RFC 9110, section 8.8), which change with it, and the part of its address that stays.

import type { Fields } from '../errors/errors.js';
import { CodedFailure } from '../errors/errors.js';
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

const SECOND_MS = 1000;
/** In milliseconds. */
const MAX_CLOCK_SKEW_MS = 60_000;

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
    date === null ? Date.now() - MAX_CLOCK_SKEW_MS - Date.parse(modified) : Date.parse(date) - Date.parse(modified);
  return age >= SECOND_MS;
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

interface Signature {
  /** The parameters that every such signature has; each alone may belong to the file. */
  marks: string[];
  /** Parameters that it may also have. */
  others?: string[];
}

/** The parameters of SAS. Azure Storage, "Create a service SAS", "account SAS", "user delegation SAS". */
const SAS =
  'sp st se si spr sip sdd ses skoid sktid skt ske sks skv skdutid saoid suoid sduoid scid rscc rscd rsce rscl rsct'.split(
    ' ',
  );

/** In lower case. */
const SIGNATURES: Signature[] = [
  // Amazon S3, versions 4 and 2; the latter also of Alibaba and Huawei.
  {
    marks: ['x-amz-signature'],
    others: ['algorithm', 'credential', 'date', 'expires', 'signedheaders', 'security-token', 'region-set'].map(
      (name) => `x-amz-${name}`,
    ),
  },
  { marks: ['awsaccesskeyid', 'expires', 'signature'], others: ['x-amz-security-token'] },
  { marks: ['ossaccesskeyid', 'expires', 'signature'], others: ['security-token'] },
  { marks: ['accesskeyid', 'expires', 'signature'], others: ['x-obs-security-token'] },
  // Amazon CloudFront, with a custom and a canned policy.
  { marks: ['key-pair-id', 'policy', 'signature'] },
  { marks: ['key-pair-id', 'expires', 'signature'] },
  // Google Cloud Storage, versions 4 and 2.
  {
    marks: ['x-goog-signature'],
    others: ['algorithm', 'credential', 'date', 'expires', 'signedheaders'].map((name) => `x-goog-${name}`),
  },
  { marks: ['googleaccessid', 'expires', 'signature'] },
  // Azure, of a service and of an account.
  { marks: ['sig', 'sr', 'sv'], others: SAS },
  { marks: ['sig', 'srt', 'ss', 'sv'], others: SAS },
];

/** Returns the names and values of the query of `url` without complete signatures. */
export function lastingQuery({ searchParams }: URL): [string, string][] {
  const names = new Set([...searchParams.keys()].map((name) => name.toLowerCase()));
  const signed = SIGNATURES.filter(({ marks }) => marks.every((name) => names.has(name)));
  const dropped = new Set(signed.flatMap(({ marks, others = [] }) => [...marks, ...others]));
  return [...searchParams].filter(([name]) => !dropped.has(name.toLowerCase()));
}
