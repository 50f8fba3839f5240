// What can go wrong with a request.

/** A failure that may pass: the request is made again. */
export class Passing extends Error {
  /** `wait` is how many seconds the server asks to wait, if it does. */
  constructor(
    message: string,
    readonly wait?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The server, or the network, is asked too much. */
export class Overloaded extends Passing {}

/** No server has answered: it may be down, or may not be there. */
export class Unanswered extends Passing {}

/** The server will not do it: another attempt is of no use. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** 408 Request Timeout, 425 Too Early, 429 Too Many Requests; besides, all from 500 on. */
const PASSING = [408, 425, 429];
/** 429 Too Many Requests, 503 Service Unavailable. */
const OVERLOADED = [429, 503];
/** 501 Not Implemented, 505 HTTP Version Not Supported, 507 Insufficient Storage. */
const LASTING = [501, 505, 507];

/** What an answer to a read means, by its status. */
const READING: Record<number, string> = {
  401: '; it asks for a user or a token',
  403: '; it does not allow this, or the address has expired',
  404: '; there is no such file',
  407: '; a proxy asks for a user',
  410: '; the file is gone',
};

/** What an answer of `status` means, where that is no success; `hints` say more of some. */
export function refusal({ status, statusText, headers }: Response, hints = READING): Passing | Refused {
  const reason = `the server answered ${status}${statusText && ` ${statusText}`}`;
  if (PASSING.includes(status) || (status >= 500 && !LASTING.includes(status))) {
    const Kind = OVERLOADED.includes(status) ? Overloaded : Passing;
    return new Kind(reason, secondsOf(headers.get('Retry-After')));
  }
  return new Refused(reason + (hints[status] ?? ''), status);
}

/** Retry-After: a number of seconds, or a date. */
function secondsOf(value: string | null): number | undefined {
  if (value === null) return undefined;
  const seconds = /^\d+$/.test(value.trim()) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}
