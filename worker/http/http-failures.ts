// Failures of requests, and their reasons: what a server answered, what a browser hides, what Node's connections report.

import { CodedFailure, DecantError, type Fields, reasonOf } from '../errors/errors.js';
import { withoutValues } from '../errors/secrets.js';
import { shownText } from '../errors/shown.js';
import { isObject } from '../errors/values.js';

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

/** Node's `fetch` rejects on it. */
export const PROXY_AUTHENTICATION_REQUIRED = 407;

/** The meaning of a status for a read, after the number. */
const READ_HINTS: Record<number, string> = {
  401: '; it requires a user or a token',
  403: '; it does not allow this, or the address has expired',
  404: '; there is no such file',
  407: '; a proxy requires a user',
  410: '; the file is gone',
};

export interface Explanation {
  /** The meanings of statuses. */
  hints?: Record<number, string>;
  /** Names the server. */
  server?: string;
  /** Secrets of the request, which the server may repeat. */
  secrets?: readonly string[] | undefined;
}

/** Makes the failure of an unsuccessful response. */
export function failureOf(
  response: Response,
  { hints = READ_HINTS, server = 'the server', secrets }: Explanation = {},
): TransientFailure | RequestRefused {
  const { status, headers } = response;
  const reason = `${server} answered ${statusLine(response, secrets)}`;
  const wait = retryAfterIn(headers.get('Retry-After'));
  if (TRANSIENT_STATUSES.includes(status) || (status >= 500 && !PERMANENT_STATUSES.includes(status))) {
    const Kind = OVERLOADED_STATUSES.includes(status) ? Overloaded : TransientFailure;
    return new Kind(wait ? `${reason}; it asks to wait for ${duration(wait)}` : reason, wait, { status });
  }
  return new RequestRefused(reason + (hints[status] ?? regionHint(response)), status);
}

/** S3 answers 301 or 400 to a request for a bucket of another region. */
function regionHint({ status, headers }: Response): string {
  const region = [301, 400].includes(status) ? headers.get('x-amz-bucket-region') : null;
  return region === null ? '' : `; the bucket is in the region ${shownText(region)}: use its endpoint`;
}

/** Status and reason phrase, without secrets. */
export const statusLine = ({ status, statusText }: Response, secrets?: readonly string[]): string =>
  `${status}${statusText ? ` ${withoutValues(statusText, secrets)}` : ''}`;

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

/** Why `fetch` rejected with `thrown`. `secrets` are removed from the text. `origin` is the server; `undefined` for a proxy. */
export function networkReason(thrown: unknown, secrets?: readonly string[], origin?: string): string {
  // Node puts the reason in the cause. If it has tried several IP addresses, the cause has no message.
  const cause = thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown;
  const first = cause instanceof AggregateError && cause.message === '' ? cause.errors[0] : cause;
  return connectionReason(first, origin) ?? withoutValues(reasonOf(first), secrets);
}

/**
 * Finds the failure in `thrown` that is already explained, such as a proxy's; `fetch` may have wrapped it. `host` is that of the
 * request.
 */
export function namedFailureIn(thrown: unknown, host: string): Error | undefined {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  for (const one of [thrown, cause]) {
    if (one instanceof CodedFailure || one instanceof DecantError) return one;
  }
  if (!hidesStatus(cause)) return undefined;
  return Object.assign(failureOf(new Response(null, { status: PROXY_AUTHENTICATION_REQUIRED })), { host });
}

/** Whether `cause` is that of Node's `fetch` for the status 407, which it hides: of its causes only this one has no message. */
export const hidesStatus = (cause: unknown): boolean =>
  cause instanceof Error && cause.message === '' && !('code' in cause) && !(cause instanceof AggregateError);

/** Headers that need no permission of the server, or none in current browsers. Fetch standard, "CORS-safelisted". */
const SAFELISTED = new Set(['accept', 'accept-language', 'content-language', 'range']);

/** Explains that the browser has shown no response from `origin` to a request of `method` with `headers`. */
export function corsMessage(origin: string, method: string, headers: Iterable<readonly [string, string]>): string {
  const names = [...headers].map(([name]) => name).filter((name) => !SAFELISTED.has(name));
  const rules = ['send Access-Control-Allow-Origin'];
  const isCustom = names.length > 0;
  if (isCustom || !['GET', 'HEAD', 'POST'].includes(method))
    rules.push(`allow the method ${method} (Access-Control-Allow-Methods)`);
  if (isCustom)
    rules.push(`allow the header${names.length > 1 ? 's' : ''} ${names.join(', ')} (Access-Control-Allow-Headers)`);
  const must = rules.length === 1 ? rules[0] : `${rules.slice(0, -1).join(', ')} and ${rules.at(-1)}`;
  return `no answer came from ${origin}, or its CORS rules do not allow this page: then it must ${must}`;
}

const NO_TLS = 'the server does not use TLS on this port; it may expect http';
const NO_HTTP = 'the answer is not valid HTTP; the server may expect https';
const NO_RESPONSE = 'the server closed the connection without a response; it may expect https';
const UNTRUSTED =
  'the certificate of the server is not trusted here; NODE_EXTRA_CA_CERTS can name a file with its authority';

/** Maximum number of bytes that a port for TLS takes before it closes the connection. */
const LARGEST_REQUEST = 64 << 10;

const REASONS: Record<string, string> = {
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  // `node:https` throws this in place of OpenSSL's code.
  EPROTO: 'TLS failed; the server may expect http on this port',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_UNTRUSTED: UNTRUSTED,
  CERT_HAS_EXPIRED: 'the certificate of the server has expired',
  CERT_NOT_YET_VALID: 'the certificate of the server is not valid yet; check the clock of this computer',
  CERT_REVOKED: 'the certificate of the server was revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the server is for another name',
};

/** Codes of a connection that the server has closed: undici's, and those of `node:http`. */
const CLOSED = ['UND_ERR_SOCKET', 'ECONNRESET'];

/** The parts of undici's errors that are used; requests by `node:http` have a `socket` added. */
interface ConnectionError {
  name?: unknown;
  code?: unknown;
  socket?: { bytesRead?: unknown; bytesWritten?: unknown };
}

/** Node's codes of a host that has refused the connection, or whose name is unknown. */
const UNCONNECTED: unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'];

/** Whether `thrown`, or one of its causes, says that there was no connection. Browsers never say so. */
export function isUnconnected(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause)
    if (UNCONNECTED.includes((error as ConnectionError).code)) return true;
  return false;
}

/**
 * Explains by `cause` why a connection to `origin` failed, with its code if it has one; `undefined` if the failure explains
 * itself. `origin` is undefined for a proxy.
 */
export function connectionReason(cause: unknown, origin?: string): string | undefined {
  if (!isObject(cause)) return undefined;
  const { name, code, socket } = cause as ConnectionError;
  const isPlain = origin?.startsWith('http:');
  const isOfParser = name === 'HTTPParserError' || /^HPE_(?!HEADER_OVERFLOW)/.test(String(code));
  if (isPlain && isOfParser) return NO_HTTP;
  const isUnanswered = socket?.bytesRead === 0 && Number(socket.bytesWritten) < LARGEST_REQUEST;
  if (isPlain && CLOSED.includes(String(code)) && isUnanswered) return NO_RESPONSE;
  if (typeof code !== 'string') return undefined;
  if (Object.hasOwn(REASONS, code)) return `${code}: ${REASONS[code]}`;
  return code.startsWith('ERR_SSL_') ? `${code}: TLS failed` : undefined;
}
