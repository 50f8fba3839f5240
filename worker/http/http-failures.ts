// What can go wrong with a request.

import { DecantError, type DecantErrorOptions, type Fields } from '../errors/errors.js';

/** A failure of a request, with what programs are told of it: docs/errors.md lists the codes. */
export abstract class HttpFailure extends Error {
  abstract readonly code: string;
  abstract readonly fields: Fields;
}

/** Where a request has failed, as far as that is known. */
interface FailureDetails extends ErrorOptions {
  status?: number | undefined;
  host?: string | undefined;
}

const fieldsOf = (status: number | undefined, host: string | undefined): Fields => ({
  ...(status === undefined ? {} : { status }),
  ...(host === undefined ? {} : { host }),
});

/** A failure that may pass: the request is made again. */
export class TransientFailure extends HttpFailure {
  readonly status: number | undefined;
  /** Who has failed, with a port. */
  host: string | undefined;

  /** `wait` is how many seconds the server asks to wait, if it does. */
  constructor(
    message: string,
    readonly retryAfter?: number,
    { status, host, ...options }: FailureDetails = {},
  ) {
    super(message, options);
    this.status = status;
    this.host = host;
  }

  get code(): string {
    return this.status === undefined ? 'no-answer' : 'http-status';
  }

  get fields(): Fields {
    const { status, host, retryAfter } = this;
    return { ...fieldsOf(status, host), ...(retryAfter ? { retryAfter: retryAfter } : {}) };
  }
}

/** The server, or the network, is asked too much. */
export class Overloaded extends TransientFailure {}

/** Bytes come one by one, by the pace of somebody who holds others up. */
export class Trickling extends Overloaded {}

/** No server has answered: it may be down, or may not be there. */
export class NoAnswer extends TransientFailure {}

/** The server will not do it: another attempt is of no use. */
export class RequestRefused extends HttpFailure {
  readonly code = 'http-status';
  /** Who has refused, with a port. */
  host: string | undefined;

  constructor(
    message: string,
    readonly status: number,
    /** The server's own code of the error, if it has one: `InvalidPart`, for example. */
    readonly serverCode?: string,
  ) {
    super(message);
  }

  get fields(): Fields {
    const { serverCode } = this;
    return { ...fieldsOf(this.status, this.host), ...(serverCode === undefined ? {} : { serverCode }) };
  }
}

/** 408 Request Timeout, 425 Too Early, 429 Too Many Requests; besides, all from 500 on. */
const TRANSIENT_STATUSES = [408, 425, 429];
/** 429 Too Many Requests, 503 Service Unavailable. */
const OVERLOADED_STATUSES = [429, 503];
/** 501 Not Implemented, 505 HTTP Version Not Supported, 507 Insufficient Storage. */
const PERMANENT_STATUSES = [501, 505, 507];

/** What an answer to a read means, by its status. */
const READ_HINTS: Record<number, string> = {
  401: '; it asks for a user or a token',
  403: '; it does not allow this, or the address has expired',
  404: '; there is no such file',
  407: '; a proxy asks for a user',
  410: '; the file is gone',
};

/** What an answer of `status` means, where that is no success; `hints` say more of some, and `who` has answered. */
export function failureOf(
  { status, statusText, headers }: Response,
  hints = READ_HINTS,
  who = 'the server',
): TransientFailure | RequestRefused {
  const reason = `${who} answered ${status}${statusText && ` ${statusText}`}`;
  const wait = retryAfterIn(headers.get('Retry-After'));
  if (TRANSIENT_STATUSES.includes(status) || (status >= 500 && !PERMANENT_STATUSES.includes(status))) {
    const Kind = OVERLOADED_STATUSES.includes(status) ? Overloaded : TransientFailure;
    return new Kind(wait ? `${reason}; it asks to wait for ${duration(wait)}` : reason, wait, { status });
  }
  return new RequestRefused(reason + (hints[status] ?? ''), status);
}

/** Retry-After: a number of seconds, or a date. */
function retryAfterIn(value: string | null): number | undefined {
  if (value === null) return undefined;
  const seconds = /^\d+$/.test(value.trim()) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

/** Units of time, in seconds. */
const UNITS = [
  ['days', 86_400],
  ['hours', 3600],
  ['minutes', 60],
] as const;

/** So many seconds in words, by the largest unit of which there are at least two. */
function duration(seconds: number): string {
  const [name, length] = UNITS.find(([, length]) => seconds >= 2 * length) ?? ['seconds', 1];
  return `${Math.ceil(seconds / length)} ${name}`;
}

/** How an error that comes of `thrown` is made: with its code and fields, where it has some, and itself as the cause. */
export function errorOptionsOf(thrown: unknown): DecantErrorOptions {
  if (!(thrown instanceof HttpFailure)) return { cause: thrown };
  const { code, fields } = thrown;
  return { code, fields, cause: thrown };
}

/** A failure that says by itself what is wrong, as one of a proxy does; a `fetch` may have wrapped it. */
export function namedFailureIn(thrown: unknown): Error | undefined {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const isOurs = (one: unknown) => one instanceof HttpFailure || one instanceof DecantError;
  return [thrown, cause].find(isOurs) as Error | undefined;
}
