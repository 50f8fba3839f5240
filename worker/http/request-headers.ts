// Request headers: the caller's, the user and password of an address, and the secrets in them, which a server may repeat.

import { DecantError, readableError, reasonOf } from '../errors/errors.js';
import type { Address } from './address.js';
import { NoAnswer } from './http-failures.js';
import { checkHeaderName, checkHeaders } from './http-options.js';
import type { HttpHeaders, HttpOptions } from './http-types.js';

const AUTHORIZATION = 'authorization';

/** Headers by names in lower case, each once. */
export type HeaderPairs = (readonly [string, string])[];

/**
 * Resolves to the headers of a request to `url` for `address`: the given ones, and its user and password unless they have an
 * `Authorization`. None if `url` has another origin. Fails with a `DecantError` if a header is invalid, and with `NoAnswer` if
 * a function could not fetch them.
 */
export async function headersFor(
  address: Address,
  given: HttpOptions['headers'],
  url: URL = address.url,
): Promise<HeaderPairs> {
  if (url.origin !== address.url.origin) return [];
  const { authorization } = address;
  const headers = await headersOf(given);
  if (authorization === undefined || headers.some(([name]) => name === AUTHORIZATION)) return headers;
  return [[AUTHORIZATION, authorization], ...headers];
}

async function headersOf(given: HttpOptions['headers'] = {}): Promise<HeaderPairs> {
  const pairs = typeof given === 'function' ? await fromCaller(given) : given;
  checkHeaders(pairs);
  const all = [...pairsOf(pairs)];
  // Node takes 20 ms to load `Headers`.
  if (all.length === 0) return [];
  const headers = new Headers();
  for (const [name, value] of all) {
    checkHeaderName(name);
    try {
      headers.append(name, value);
    } catch {
      // The platform's message has the value, which may be a secret.
      throw new DecantError('usage', `The header '${name}' has an invalid character, such as a line break`);
    }
  }
  return [...headers];
}

const pairsOf = (headers: HttpHeaders): Iterable<readonly [string, string]> =>
  Symbol.iterator in headers ? headers : Object.entries(headers);

/** Calls `make`. A `TypeError`, as `fetch` throws it, counts as a network failure: fetching a token may be retried. */
export async function fromCaller<T>(make: () => T | Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (given) {
    const thrown = readableError(given);
    if (!(thrown instanceof TypeError)) throw thrown;
    throw new NoAnswer(reasonOf(thrown), undefined, { cause: thrown });
  }
}

/** Names of headers that carry secrets. */
const SECRET = /auth|token|key|secret|cookie|password|credential|session|signature/i;
/** Names of headers that carry none, unless they match `SECRET`. All others may. */
const PLAIN =
  /^(accept|cache-control|content-|expect|if-|origin|pragma|range|referer|tus-|upload-|user-agent|x-(amz|goog|ms)-)/i;
/** Shorter values are words of many messages. */
const SHORTEST = 4;

/** Returns the secrets in `headers`, and the forms in which a server may repeat them: the longest first. */
export function secretsIn(headers: HttpHeaders): string[] {
  const found = [...pairsOf(headers)].flatMap(([name, value]) => {
    if (SECRET.test(name)) return [value, ...partsOf(value)];
    return PLAIN.test(name) ? [] : [value];
  });
  const forms = found.flatMap((secret) => [secret, encodeURIComponent(secret)]);
  return [...new Set(forms)].filter(({ length }) => length >= SHORTEST).sort((a, b) => b.length - a.length);
}

/** The parts of a value without its scheme, such as `Bearer`, and the password of `Basic`. */
function partsOf(value: string): string[] {
  const [, scheme, rest] = /^([\w-]+) +(.+)$/.exec(value) ?? [];
  const parts = (rest ?? value).split(/[\s,;="']+/);
  if (scheme?.toLowerCase() !== 'basic') return parts;
  const pair = decodedPair(rest!);
  return [...parts, pair, pair.slice(pair.indexOf(':') + 1)];
}

/** Decodes base64; empty for a text that is not base64. */
function decodedPair(text: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
  } catch {
    return '';
  }
}
