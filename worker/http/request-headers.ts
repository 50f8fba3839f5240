// The headers of requests: those that a caller gives, and the user and password of an address.

import { DecantError, reasonOf } from '../errors/errors.js';
import type { Address } from './address.js';
import { NoAnswer } from './http-failures.js';
import { checkHeaders } from './http-options.js';
import type { HttpOptions } from './http-types.js';

/**
 * What a request to `url` carries on behalf of `address`: the headers that were given, and its user and password where
 * they have no `Authorization`. All of it goes to the origin of the address only. Fails with a `DecantError` where a
 * header cannot be sent, and with `Unanswered` where they were fetched and that has failed.
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
    try {
      headers.append(name, value);
    } catch {
      // What the platform says has the value, which may be a secret.
      throw new DecantError('usage', `The header '${name}' has a character that no header may have, as a line break`);
    }
  }
  return headers;
}

/** Where a token has to be fetched, the network may be what fails: `fetch` says so by a `TypeError`. */
export async function fromCaller<T>(make: () => T | Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown;
    throw new NoAnswer(reasonOf(thrown), undefined, { cause: thrown });
  }
}
