// One request of an upload: sends it, and reads its response within its times.

import { orCancelled, readableError } from '../errors/errors.js';
import { addressOf } from '../http/address.js';
import { NoAnswer, namedFailureIn } from '../http/http-failures.js';
import { checkedResponse, LONGEST_TIMER } from '../http/http-options.js';
import { hasNodeFetch } from '../http/node-response.js';
import { underPolicy } from '../http/policy-reports.js';
import { secretsIn } from '../http/request-headers.js';
import { streamFetch } from './node-stream-fetch.js';
import { type Body, isNode } from './request-body.js';
import type { UploadOptions } from './upload-options.js';
import {
  errorTextOf,
  failureIn200,
  isRedirect,
  noAnswerMessage,
  OversizedResponse,
  textOf,
  unexpected,
} from './upload-responses.js';

/** The minimum time-out between spaces during completion, in milliseconds: MinIO sends one every ten seconds. */
const MIN_SPACE_INTERVAL = 30_000;

export interface UploadCall {
  method: string;
  url: string | URL;
  headers?: Record<string, string>;
  /** A stream cannot be retried: use `UploadRequests.once`. */
  body?: Body | string | ReadableStream<Uint8Array>;
  /** Whether the protocol uses 308, which browsers show only with `redirect: 'follow'`. */
  sees308?: boolean;
  /** Whether it completes the object: the server may take long, and send spaces until then. */
  completing?: true;
  /** Whether a response of status 200 may have an error as its body, as S3's may. */
  mayFailWith200?: true;
}

/** Makes requests, one attempt each. Times are in milliseconds. */
export class UploadExchange {
  /** The URL of the last request, as errors show it. */
  lastAddress: string | undefined;

  constructor(
    private readonly options: Pick<UploadOptions, 'fetch' | 'credentials'>,
    private readonly timeout: number,
    private readonly patience: number,
  ) {}

  /**
   * Makes the request and reads the response. Fails with `NoAnswer` if no response begins within `time` milliseconds, or its body
   * stalls, and with any error once `signal` is aborted.
   */
  async make(call: UploadCall, time: number, signal: AbortSignal): Promise<{ response: Response; text: string }> {
    const ending = new AbortController();
    const end = () => ending.abort();
    let isOverdue = false;
    const ring = () => {
      isOverdue = true;
      end();
    };
    // The writer of a stream detects stalls itself.
    let timer = call.body instanceof ReadableStream ? undefined : setTimeout(ring, Math.min(LONGEST_TIMER, time));
    signal.addEventListener('abort', end);
    try {
      signal.throwIfAborted();
      const asking = underPolicy(new URL(call.url).origin, () => this.#fetch(call, ending.signal));
      // A custom `fetch` may ignore the signal.
      const response = checkedResponse(await orCancelled(ending.signal, asking));
      clearTimeout(timer);
      if (response.status >= 400)
        return { response, text: await errorTextOf(response, ending.signal, Math.min(LONGEST_TIMER, this.timeout)) };
      // Bounds a body that arrives slowly. S3 may send spaces for longer while it completes an object.
      const last = performance.now() + (call.completing ? Number.POSITIVE_INFINITY : this.patience);
      const timeout = call.completing ? Math.max(MIN_SPACE_INTERVAL, this.timeout) : this.timeout;
      const text = await textOf(response, ending.signal, () => {
        clearTimeout(timer);
        timer = setTimeout(ring, Math.min(timeout, Math.max(0, last - performance.now())));
      });
      return { response, text };
    } catch (given) {
      const thrown = readableError(given);
      // Releases the connection.
      end();
      if (thrown instanceof OversizedResponse) throw thrown;
      const { host, origin } = new URL(call.url);
      const failure = isOverdue || signal.aborted ? undefined : namedFailureIn(thrown, host);
      if (failure) throw failure;
      const Kind = isOverdue ? NoAnswerInTime : NoAnswer;
      const reason = isOverdue
        ? `no answer came within ${Math.ceil(time / 1000)} seconds`
        : noAnswerMessage(origin, call.method, headersOf(call), thrown);
      throw new Kind(reason, undefined, { cause: thrown, host });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    }
  }

  #fetch(call: UploadCall, signal: AbortSignal): Promise<Response> {
    const { method, url, body, sees308 = false } = call;
    const { credentials } = this.options;
    const { url: parsed, shown } = addressOf(url);
    this.lastAddress = shown;
    const headers = Object.fromEntries(headersOf(call));
    if (body instanceof ReadableStream && !this.options.fetch && hasNodeFetch())
      return streamFetch(parsed, { method, headers, body, signal });
    return (this.options.fetch ?? fetch)(parsed, {
      method,
      headers,
      signal,
      cache: 'no-store',
      redirect: sees308 && !isNode() ? 'follow' : 'manual',
      ...(body === undefined ? {} : { body: body as BodyInit }),
      ...(body instanceof ReadableStream ? streaming() : {}),
      ...(credentials ? { credentials } : {}),
    });
  }
}

/** Returns the headers of a request: those of the call, and the user and password of its URL, which `fetch` refuses there. */
function headersOf({ url, headers }: UploadCall): Headers {
  const sent = new Headers(headers);
  const { authorization } = addressOf(url);
  if (authorization !== undefined && !sent.has('Authorization')) sent.set('Authorization', authorization);
  return sent;
}

/** Returns the failure that a response states; `undefined` for a success. */
export function failureIn(
  call: UploadCall,
  accepted: readonly number[],
  response: Response,
  text: string,
): Error | undefined {
  const secrets = secretsIn(headersOf(call));
  if (!accepted.includes(response.status) || isRedirect(response))
    return unexpected(new URL(call.url), response, text, secrets);
  return call.mayFailWith200 && response.status === 200 ? failureIn200(text, secrets) : undefined;
}

/** Options for a stream. Node buffers the whole stream for resending, unless redirects are errors and there is no window. */
const streaming = () => ({
  duplex: 'half' as const,
  ...(isNode() ? { redirect: 'error' as const, window: null } : {}),
});

/** No response within the time-out. */
export class NoAnswerInTime extends NoAnswer {}
