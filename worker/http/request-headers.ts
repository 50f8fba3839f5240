// Request headers: the caller's, and the user and password of an address.

import { DecantError, readableError, reasonOf } from '../errors/errors.js';
import type { Address } from './address.js';
import { NoAnswer } from './http-failures.js';
import { checkHeaderName, checkHeaders } from './http-options.js';
import type { HttpOptions } from './http-types.js';

/**
 * Resolves to the headers of a request to `url` for `address`: the given ones, and its user and password unless they have an
 * `Authorization`. None if `url` has another origin. Fails with a `DecantError` if a header is invalid, and with `NoAnswer` if
 * a function could not fetch them.
 */
export async function headersFor(
  address: Address,
  given: HttpOptions['headers'],
  url: URL = address.url,
): Promise<Headers> {
  if (url.origin !== address.url.origin) return new Headers();
  const headers = await headersOf(given);
  const { authorization } = address;
  if (authorization !== undefined && !headers.has('Authorization')) headers.set('Authorization', authorization);
  return headers;
}

async function headersOf(given: HttpOptions['headers'] = {}): Promise<Headers> {
  const pairs = typeof given === 'function' ? await fromCaller(given) : given;
  checkHeaders(pairs);
  const headers = new Headers();
  for (const [name, value] of Symbol.iterator in pairs ? pairs : Object.entries(pairs)) {
    checkHeaderName(name);
    try {
      headers.append(name, value);
    } catch {
      // The platform's message has the value, which may be a secret.
      throw new DecantError('usage', `The header '${name}' has an invalid character, such as a line break`);
    }
  }
  return headers;
}

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
