// Responses to the requests of an upload: their text, and the errors in them.

import { CodedFailure, type Fields, orCancelled } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import { anyOf, nextTask } from '../errors/signals.js';
import { addressOf } from '../http/address.js';
import {
  corsMessage,
  failureOf,
  networkReason,
  RequestRefused,
  statusLine,
  TransientFailure,
} from '../http/http-failures.js';
import { locationOf } from '../http/location-header.js';
import { secretsIn } from '../http/request-headers.js';
import { isTransient, serverError, unescapeXml } from './responses.js';
import { OTHER_SENDER } from './upload-errors.js';

/** The maximum length of a response, in characters. */
const MAX_RESPONSE = 16 << 20;

const HINTS: Record<number, string> = {
  401: '; it requires a user or a token',
  403: '; it does not allow this, or the address has expired',
  404: '; the address does not exist, or the upload has expired',
  410: '; the upload has expired',
  412: '; a condition of the request is not met, such as that no object exists yet',
  413: '; the file is too large for it',
  507: '; its storage is full',
};

/** A response longer than any that is meant for the client. */
export class OversizedResponse extends Error {}

/** Reads the body as text; calls `came` before the first read and after each chunk that is not empty. Fails with `OversizedResponse` above `MAX_RESPONSE`. */
export async function textOf(response: Response, signal: AbortSignal, came: () => void): Promise<string> {
  let text = '';
  came();
  for await (const part of partsOf(response, signal)) {
    came();
    text += part;
    if (text.length > MAX_RESPONSE) throw new OversizedResponse('the response of the server does not end');
  }
  return text;
}

/**
 * Reads the body of an error, whose status says enough: resolves to the text that comes within `time` milliseconds and before
 * the connection breaks. Fails only once `signal` is aborted.
 */
export async function errorTextOf(response: Response, signal: AbortSignal, time: number): Promise<string> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), time);
  let text = '';
  try {
    for await (const part of partsOf(response, anyOf([signal, late.signal]))) {
      text += part;
      if (text.length > MAX_RESPONSE) break;
    }
  } catch {
    signal.throwIfAborted();
  } finally {
    clearTimeout(timer);
  }
  return text;
}

async function* partsOf({ body }: Response, signal: AbortSignal): AsyncGenerator<string, void> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { value } = (reader && (await orCancelled(signal, reader.read()))) ?? {};
      if (!value) return yield decoder.decode();
      if (value.length === 0) await nextTask();
      else yield decoder.decode(value, { stream: true });
    }
  } finally {
    // Releases the connection. A broken one cannot be cancelled.
    reader?.cancel().catch(() => {});
  }
}

/** Statuses of redirects (RFC 9110, section 15.4). */
const REDIRECTS = [301, 302, 303, 307, 308];

/** Whether the response is a redirect, or the browser followed one. */
export const isRedirect = ({ type, redirected }: Response): boolean => type === 'opaqueredirect' || redirected;

/** Makes the error of an unaccepted response to a request to `url`, with the server's error message. `secrets` are those of the request. */
export function unexpected(url: URL, response: Response, text: string, secrets?: readonly string[]): Error {
  if (isRedirect(response) || REDIRECTS.includes(response.status)) return redirection(url, response, text);
  if (response.ok) {
    const reason = `the server answered ${statusLine(response, secrets)}, which this request does not expect`;
    return new RequestRefused(`${reason}; ${OTHER_SENDER}`, response.status);
  }
  const error = failureOf(response, { hints: HINTS, secrets });
  const { code, words } = serverError(text, secrets);
  if (words === '') return error;
  const message = `${error.message} (${words})`;
  const details = { status: response.status, serverCode: code };
  if (error instanceof TransientFailure) return new TransientFailure(message, error.retryAfter, details);
  return isTransient(code)
    ? new TransientFailure(message, undefined, details)
    : new RequestRefused(message, error.status, code);
}

/** The server redirects a request of an upload, which is not followed. */
class Redirected extends CodedFailure {
  readonly code = 'redirected';
  readonly fields: Fields;

  constructor({ host }: URL, { status }: Response, advice: string, location?: string) {
    super(`the server redirects${advice}`);
    // A browser hides the status.
    this.fields = { host, ...(status > 0 && { status }), ...(location === undefined ? {} : { location }) };
  }
}

/** Makes the error of a redirect, with the address that it leads to: Location, or S3's `<Endpoint>`. */
function redirection(url: URL, response: Response, text: string): Redirected {
  const { headers, type } = response;
  if (type === 'opaqueredirect') return new Redirected(url, response, ', and the browser hides the address');
  const location = addressIn(url, response.redirected ? response.url : headers.get('Location'));
  if (location === url.origin + url.pathname && headers.has('Set-Cookie'))
    return new Redirected(url, response, ' to the same address and sets a cookie: pass a Cookie header', location);
  if (location !== undefined)
    return new Redirected(url, response, ` to ${shownText(location)}: use this address`, location);
  const endpoint = unescapeXml(/<Endpoint>([^<]+)</.exec(text)?.[1] ?? '');
  if (endpoint === '') return new Redirected(url, response, ' without an address');
  const region = headers.get('x-amz-bucket-region');
  const and = region === null ? '' : ` and the region ${shownText(region)}`;
  return new Redirected(url, response, ` to ${shownText(endpoint)}: use this endpoint${and}`, endpoint);
}

/** Resolves a Location header to a URL without a query, which may have secrets; `undefined` if it is not valid. */
function addressIn(from: URL, location: string | null): string | undefined {
  try {
    return location === null ? undefined : addressOf(locationOf(from, location)).shown;
  } catch {
    return undefined;
  }
}

/** Makes the error in the body of a response of status 200. Without a code, the server may have done what was asked. */
export function failureIn200(text: string, secrets?: readonly string[]): Error | undefined {
  const { code, words } = serverError(text, secrets);
  if (code === undefined || !/^\s*(<\?xml[^>]*>\s*)?<Error[\s>]/.test(text)) return undefined;
  const message = `the server answered 200 with an error (${words})`;
  return isTransient(code)
    ? new TransientFailure(message, undefined, { status: 200, serverCode: code })
    : new RequestRefused(message, 200, code);
}

export function withHost(host: string, failure: Error): Error {
  if (failure instanceof TransientFailure || failure instanceof RequestRefused) failure.host = host;
  return failure;
}

/** Explains that no response came from `origin` to a request of `method` with `headers`. */
export function noAnswerMessage(origin: string, method: string, headers: Headers, thrown: unknown): string {
  if (typeof document !== 'undefined' && location.origin !== origin) return corsMessage(origin, method, headers);
  return `no answer came from ${origin} (${networkReason(thrown, secretsIn(headers), origin)})`;
}
