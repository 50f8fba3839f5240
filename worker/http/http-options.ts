// Checks of `HttpOptions`, before any request: a later failure would look like one of the network. And of what a custom `fetch` returns.

import { checkReadable, checkSignal, checkTypes, namesOf, orUsageError } from '../errors/argument-checks.js';
import { DecantError } from '../errors/errors.js';
import { isObject } from '../errors/values.js';
import type { HttpHeaders, HttpOptions } from './http-types.js';
import { checkLimit } from './request-limit.js';

export const HTTP_OPTIONS = namesOf<HttpOptions>({
  allowUrl: true,
  credentials: true,
  fetch: true,
  headers: true,
  limit: true,
  onWaiting: true,
  patience: true,
  signal: true,
  timeout: true,
});

const CREDENTIALS = ['omit', 'same-origin', 'include'];

const usage = (message: string) => new DecantError('usage', message);

/** Fails with `usage` if an option has the wrong type. */
export function checkHttpOptions(options: HttpOptions): void {
  if (typeof options !== 'object' || options === null) throw usage("'options' must be an object");
  const given = orUsageError('the options', () => {
    const { headers, credentials, fetch, allowUrl, onWaiting, timeout, patience, limit, signal } = options;
    return { headers, credentials, fetch, allowUrl, onWaiting, timeout, patience, limit, signal };
  });
  const { headers, credentials, timeout, patience, limit, signal } = given;
  checkSignal(signal);
  for (const [name, value] of Object.entries({ headers, limit })) checkReadable(`'${name}'`, value);
  if (headers !== undefined && typeof headers !== 'function') {
    checkHeaders(headers);
    namesIn(headers).forEach(checkHeaderName);
  }
  if (credentials !== undefined && !CREDENTIALS.includes(credentials)) {
    throw usage(`'credentials' must be one of ${CREDENTIALS.join(', ')}`);
  }
  checkTypes(given, 'function', ['allowUrl', 'fetch', 'onWaiting']);
  checkLimit(limit);
  if (timeout !== undefined) milliseconds('timeout', timeout);
  if (patience !== undefined) milliseconds('patience', patience);
}

/** Fails with `usage` unless `headers` are an object or a list of pairs. */
export function checkHeaders(headers: unknown): void {
  const isObject = typeof headers === 'object' && headers !== null;
  if (isObject && (!(Symbol.iterator in headers) || typeof headers[Symbol.iterator] === 'function')) return;
  throw usage("'headers' must be an object, a list of pairs, or a function that returns one of these");
}

/** Headers of the connection and of the body's framing: platforms set them, and refuse others or drop them. */
const UNSENDABLE = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** Fails with `usage` for the name of a header that a caller cannot send. */
export function checkHeaderName(name: string): void {
  if (UNSENDABLE.includes(String(name).toLowerCase()))
    throw usage(`The header '${name}' cannot be given: the platform sets it for each request`);
}

/** The names in `headers`; none for an iterator, which can be read only once. */
function namesIn(headers: HttpHeaders): string[] {
  if (!(Symbol.iterator in headers)) return Object.keys(headers);
  const iterator: unknown = (headers as Iterable<unknown>)[Symbol.iterator]();
  if (iterator === headers) return [];
  return orUsageError('the headers', () => [...(headers as Iterable<readonly [string, string]>)].map(([name]) => name));
}

/** The limit of a timer, in milliseconds: 24 days. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** Converts the option `name` to milliseconds, at most `LONGEST_TIMER`. Fails with `usage` unless it is a number, 0 or more. */
export function milliseconds(name: string, seconds: number): number {
  if (typeof seconds === 'number' && seconds >= 0) return Math.min(LONGEST_TIMER, seconds * 1000);
  const given = typeof seconds === 'number' ? seconds : `a value of type ${seconds === null ? 'null' : typeof seconds}`;
  throw new DecantError('usage', `'${name}' must be a number of seconds, 0 or more, not ${given}`);
}

/** Returns `value` if it has the parts of a `Response` that are read, and its body is unread. Fails with `usage` otherwise. */
export function checkedResponse(value: unknown): Response {
  if (!isResponse(value)) throw new DecantError('usage', "The custom 'fetch' must resolve to a Response");
  // A response that is given out twice.
  if (value.body?.locked)
    throw new DecantError('usage', "The custom 'fetch' must resolve to a new Response: the body of this one was read");
  return value;
}

/** `instanceof` would refuse a response of another realm or library. */
function isResponse(value: unknown): value is Response {
  if (!isObject(value)) return false;
  try {
    const { status, headers, body } = value as Partial<Response>;
    const isReadable = body === null || body === undefined || typeof body.getReader === 'function';
    return typeof status === 'number' && typeof headers?.get === 'function' && isReadable;
  } catch {
    // A getter threw.
    return false;
  }
}
