// Checks the result of a custom `fetch`.

import { isObject } from '../calls/values.js';
import { DecantError } from '../errors/errors.js';

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
