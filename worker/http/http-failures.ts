// Failures of requests.

import { CodedFailure } from '../errors/coded-failure.js';
import { DecantError, type Fields } from '../errors/errors.js';

/** Known details of a failure. */
interface FailureDetails extends ErrorOptions {
  status?: number | undefined;
  host?: string | undefined;
  /** The server's error code, such as `SlowDown`. */
  serverCode?: string | undefined;
}

const fieldsOf = ({ status, host, serverCode }: FailureDetails): Fields => ({
  ...(status === undefined ? {} : { status }),
  ...(host === undefined ? {} : { host }),
  ...(serverCode === undefined ? {} : { serverCode }),
});

/** A failure that a retry may fix. */
export class TransientFailure extends CodedFailure {
  readonly status: number | undefined;
  /** The host that failed, with a port. */
  host: string | undefined;
  readonly serverCode: string | undefined;

  /** `retryAfter` is in seconds. */
  constructor(
    message: string,
    readonly retryAfter?: number,
    { status, host, serverCode, ...options }: FailureDetails = {},
  ) {
    super(message, options);
    this.status = status;
    this.host = host;
    this.serverCode = serverCode;
  }

  get code(): string {
    return this.status === undefined ? 'no-answer' : 'http-status';
  }

  get fields(): Fields {
    const { retryAfter } = this;
    return { ...fieldsOf(this), ...(retryAfter ? { retryAfter } : {}) };
  }
}

/** The server or the network is overloaded. */
export class Overloaded extends TransientFailure {}

/** Bytes come too slowly, as from a server that stalls its clients. */
export class Trickling extends Overloaded {}

/** No response: the server is down or does not exist. */
export class NoAnswer extends TransientFailure {}

/** The server refused: a retry is useless. */
export class RequestRefused extends CodedFailure {
  readonly code = 'http-status';
  /** The host that refused, with a port. */
  host: string | undefined;

  constructor(
    message: string,
    readonly status: number,
    /** The server's error code, such as `InvalidPart`. */
    readonly serverCode?: string,
  ) {
    super(message);
  }

  get fields(): Fields {
    return fieldsOf(this);
  }
}

/** 408 Request Timeout, 425 Too Early, 429 Too Many Requests. Most statuses from 500 on are transient, too. */
const TRANSIENT_STATUSES = [408, 425, 429];
/** 429 Too Many Requests, 503 Service Unavailable. */
const OVERLOADED_STATUSES = [429, 503];
/** 501 Not Implemented, 505 HTTP Version Not Supported, 507 Insufficient Storage. */
const PERMANENT_STATUSES = [501, 505, 507];

/** What a status means for a read. */
const READ_HINTS: Record<number, string> = {
  401: '; it requires a user or a token',
  403: '; it does not allow this, or the address has expired',
  404: '; there is no such file',
  407: '; a proxy requires a user',
  410: '; the file is gone',
};

/** Makes the failure of an unsuccessful response. `hints` explain statuses, `server` names the server. */
export function failureOf(
  { status, statusText, headers }: Response,
  hints = READ_HINTS,
  server = 'the server',
): TransientFailure | RequestRefused {
  const reason = `${server} answered ${status}${statusText && ` ${statusText}`}`;
  const wait = retryAfterIn(headers.get('Retry-After'));
  if (TRANSIENT_STATUSES.includes(status) || (status >= 500 && !PERMANENT_STATUSES.includes(status))) {
    const Kind = OVERLOADED_STATUSES.includes(status) ? Overloaded : TransientFailure;
    return new Kind(wait ? `${reason}; it asks to wait for ${duration(wait)}` : reason, wait, { status });
  }
  return new RequestRefused(reason + (hints[status] ?? ''), status);
}

/** Parses Retry-After, a number of seconds or a date, to seconds. */
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

/** Formats a time by the largest unit that it has at least two of. */
function duration(seconds: number): string {
  const [name, length] = UNITS.find(([, length]) => seconds >= 2 * length) ?? ['seconds', 1];
  return `${Math.ceil(seconds / length)} ${name}`;
}

/** Finds an error of this package in `thrown`, such as a proxy's; `fetch` may have wrapped it. */
export function namedFailureIn(thrown: unknown): Error | undefined {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const isOurs = (one: unknown) => one instanceof CodedFailure || one instanceof DecantError;
  return [thrown, cause].find(isOurs) as Error | undefined;
}
