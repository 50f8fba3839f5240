// Confirms what a PUT, or a POST, has made: the server may have put it at the URL of the request, or elsewhere (Location).

import { locationOf } from '../http/location-header.js';
import { compareObject, type ExpectedObject, hasSize, Unfinished, unconfirmed } from './confirmation.js';
import { isNode } from './request-body.js';
import type { MakeCall, UploadRequests, UploadResponse } from './upload-requests.js';

/** The server has made a resource, which Location may name. RFC 9110, section 15.3.2. */
const CREATED = 201;
/** The server processes the request later. */
export const ACCEPTED = 202;
/** Types of responses that describe an object instead of having its bytes. */
const DESCRIPTION = /^(text\/html|(application|text)\/([\w.+-]+\+)?(json|xml))\b/i;

/** A request that has sent an object. */
interface SentObject {
  method: 'PUT' | 'POST';
  url: URL;
  /** In bytes. */
  size: number;
  /** When the upload began, by `performance.now()`. */
  since: number;
}

/** An object that was confirmed by HEAD. */
export interface ConfirmedObject {
  url: URL;
  /** The headers of the response to HEAD. */
  headers: Headers;
}

/**
 * Confirms the object by HEAD: a status alone may come from a gateway. Resolves to the object, or to the reason why the server
 * did not confirm it. Fails with `object-differs` if there is a different object, and with `Unfinished` if there is none.
 */
export async function confirmPut(
  requests: UploadRequests,
  sent: SentObject,
  answer: UploadResponse,
): Promise<ConfirmedObject | string> {
  const { method, url, size, since } = sent;
  // The object that is made later may have another ETag.
  const etag = answer.status === ACCEPTED ? null : answer.headers.get('ETag');
  const expected: ExpectedObject = { size, since, ...(etag === null ? {} : { etag }) };
  const confirmed = (headers: Headers) => compareObject(headers, expected) ?? { url, headers };
  const made = answer.status === CREATED ? madeElsewhere(url, answer.headers) : undefined;
  // Headers of the caller are for the origin of the request.
  if (made instanceof URL && made.origin === url.origin) {
    const look = await requests.look(headOf(requests, made));
    const isObject = 'headers' in look && !isDescription(look.headers) && (isEmpty(look.headers) ? size === 0 : true);
    if (isObject && compareObject(look.headers, expected) === undefined) return { url: made, headers: look.headers };
  }
  if (method === 'POST') return unconfirmed('a POST does not name the object to check');
  const look = await requests.look(headOf(requests, url));
  if ('refusal' in look) return unconfirmed(look.refusal);
  if (made) {
    const isHere = 'headers' in look && hasSize(look.headers, size) === true;
    if (isHere) return confirmed(look.headers);
    return unconfirmed('it states another address of the object, which does not show the object');
  }
  if ('missing' in look) {
    if (answer.status === ACCEPTED) return unconfirmed('the object appears later');
    throw new Unfinished(
      `the server answered ${answer.status} to PUT, but ${look.missing} to HEAD${hint(answer.status)}`,
    );
  }
  if (size > 0 && isEmpty(look.headers) && !isFile(look.headers))
    return unconfirmed('its response to HEAD has no content: the address may only take uploads');
  return confirmed(look.headers);
}

const headOf =
  (requests: UploadRequests, url: URL): MakeCall =>
  async () => ({ method: 'HEAD', url, headers: await requests.headers({}, { url }) });

/**
 * Returns where the server says that it has made the object, if that is not `from`: a URL, or 'unknown' for a Location that cannot
 * be requested.
 */
function madeElsewhere(from: URL, headers: Headers): URL | 'unknown' | undefined {
  const location = headers.get('Location');
  if (location === null) return undefined;
  try {
    const url = locationOf(from, location);
    url.hash = '';
    return url.href === from.href ? undefined : url;
  } catch {
    return 'unknown';
  }
}

const isDescription = (headers: Headers): boolean => DESCRIPTION.test(headers.get('Content-Type') ?? '');

const isEmpty = (headers: Headers): boolean => headers.get('Content-Length') === '0';

/** Whether the headers are of a stored file, which an address that only takes uploads does not have. */
const isFile = (headers: Headers): boolean =>
  headers.has('Last-Modified') || headers.get('ETag')?.startsWith('"') === true;

/** A page does not see the Location of another origin, unless the server exposes it. */
const hint = (status: number): string =>
  status === CREATED && !isNode() ? '; if the object is elsewhere, the CORS rules must expose Location' : '';
