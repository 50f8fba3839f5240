// Requests of one upload: counted, tried again where that may help, and ended together.

import { DecantError, type DecantErrorOptions, orCancelled, reasonOf } from '../errors/errors.js';
import { type Address, addressOf } from '../http/address.js';
import {
  errorOptionsOf,
  failureOf,
  NoAnswer,
  namedFailureIn,
  RequestRefused,
  TransientFailure,
} from '../http/http-failures.js';
import { checkHttpOptions } from '../http/http-options.js';
import type { PendingRequest } from '../http/http-types.js';
import { locationOf } from '../http/location-header.js';
import { fromCaller, headersFor } from '../http/request-headers.js';
import { Retries } from '../http/retries.js';
import { LONGEST_TIMER, milliseconds } from '../http/time-outs.js';
import type { Network } from '../public/types.js';
import { isNode } from './is-node.js';
import { completedAt, leftBehind } from './left-behind.js';
import { OTHER_SENDER } from './missing-header.js';
import { type Body, sizeOf } from './request-body.js';
import { isTransient, serverError } from './server-errors.js';
import type { UploadOptions } from './upload-types.js';

/** In seconds. */
export const PATIENCE = 600;
export const TIMEOUT = 30;
/** Before any body was answered: how fast one may travel, in bytes for each millisecond. */
const FIRST_SPEED = (2 << 20) / 1000;
/** A body may be slower than the one before by this factor until its answer is late. */
const LATE_FACTOR = 2;
/** For each so many bytes of its body a request may take `timeout` longer. */
const BYTES_PER_TIMEOUT = 2 << 20;
/** Shorter bodies do not show how fast bodies are, in bytes. */
const MIN_MEASURED = 256 << 10;
/** A network may be slower by this factor. */
const MAX_SLOWNESS = 16;
/** How long a server is asked to forget an upload, in milliseconds. */
const CLEAN_UP_TIME = 10_000;
/** The same of a server that has been silent for that long already. */
const SHORT_CLEAN_UP_TIME = 3_000;
/** How long a server is asked about a finished object, in milliseconds. */
const LOOK_TIME = 60_000;
/** The same in a page, which cannot tell a broken network from CORS rules without HEAD. */
const LOOK_TIME_IN_PAGE = 3_000;
/** Least wait for the next space of a server that completes an object, in milliseconds: MinIO sends one every ten seconds. */
const MIN_SPACE_INTERVAL = 30_000;
/** The most of an answer that is read, in bytes. */
const MAX_RESPONSE = 16 << 20;
/** What was to be removed is gone. 499 is Google's. */
const REMOVED = [200, 202, 204, 404, 410, 499];
/** The object is not there. */
const MISSING = [404, 410];
/** The object is there. */
const FOUND = [200, 204];

const HINTS: Record<number, string> = {
  401: '; it requires a user or a token',
  403: '; it does not allow this, or the address has expired',
  404: '; there is no such place, or the upload has expired',
  410: '; the upload has expired',
  412: '; something is there already',
  413: '; it takes no file of this size',
  507: '; it is full',
};

export interface UploadCall {
  method: string;
  url: string | URL;
  headers?: Record<string, string>;
  /** A stream is sent once: such a call is made by `once`. */
  body?: Body | string | ReadableStream<Uint8Array>;
  /** Whether 308 is an answer of the protocol, which browsers show only where they may follow redirects. */
  sees308?: boolean;
  /** Whether it completes the object: the server may work on that for long, and show it by spaces. */
  completing?: true;
}

export interface UploadResponse {
  status: number;
  headers: Headers;
  text: string;
}

/** What HEAD says of a finished object: its headers, that it is not there, or why the server cannot be asked. */
export type Look = { headers: Headers } | 'missing' | { refusal: string };

/** Makes a call; it is asked anew for each attempt, since signatures and tokens expire. */
export type MakeCall = () => UploadCall | Promise<UploadCall>;

export class UploadRequests {
  #sent = 0;
  /** Who has answered last. */
  #host: string | undefined;
  readonly #ending = new AbortController();
  readonly #retries: Retries;
  /** In milliseconds. */
  readonly #timeout: number;
  readonly #patience: number;
  /** Bodies may take so many times as long: twice as long after one that was too slow, until one is fast again. */
  #slowness = 1;
  /** Of the last body that was answered, in bytes for each millisecond. */
  #speed = FIRST_SPEED;
  /** Until when the server is asked to forget the upload, as `performance.now()` counts. */
  #cleanUpUntil: number | undefined;

  constructor(
    /** Of the place that is uploaded to, if it is known. */
    private readonly address: Address | undefined,
    private readonly options: UploadOptions,
  ) {
    checkHttpOptions(options);
    const { patience } = options;
    this.#retries = new Retries(patience === undefined ? undefined : milliseconds('patience', patience));
    this.#timeout = milliseconds('timeout', options.timeout ?? TIMEOUT);
    this.#patience = milliseconds('patience', patience ?? PATIENCE);
  }

  /** Bytes count as sent when they are answered. */
  get network(): Network {
    return { received: 0, sent: this.#sent, ...this.#retries.network };
  }

  /** What a request to `url` carries on behalf of the address; `given` are the caller's headers. */
  async headers(url?: URL, given = this.options.headers): Promise<Record<string, string>> {
    return this.address ? Object.fromEntries(await headersFor(this.address, given, url)) : {};
  }

  /** Where the server at `from` has the upload continue, by its header Location. */
  continuation(from: URL, location: string): URL {
    try {
      return locationOf(from, location);
    } catch (thrown) {
      throw this.failure(thrown);
    }
  }

  /** An answer with one of the statuses `accepted`. What may pass is tried again. */
  async send(call: MakeCall, accepted: readonly number[]): Promise<UploadResponse> {
    return this.retrying(() => this.once(call, accepted));
  }

  /** What `attempt` resolves to: it is made again after a failure that may pass. Other failures are told with the place. */
  async retrying<T>(attempt: () => Promise<T>): Promise<T> {
    try {
      // Each request is made again as a whole.
      return await this.#retries.run(
        () => this.#withHost(attempt),
        () => false,
        this.#ending.signal,
      );
    } catch (thrown) {
      throw this.failure(thrown);
    }
  }

  /** As `attempt`; a failure that is told by what an answer says has the host of that. */
  async #withHost<T>(attempt: () => Promise<T>): Promise<T> {
    try {
      return await attempt();
    } catch (thrown) {
      if (thrown instanceof TransientFailure) thrown.host ??= this.#host;
      throw thrown;
    }
  }

  /** Asks about the finished object by HEAD. Never fails, unless the upload was ended. */
  async look(make: MakeCall): Promise<Look> {
    const attempt = () => this.once(make, FOUND);
    try {
      const { headers } = await this.#retries.run(
        attempt,
        () => false,
        this.#ending.signal,
        isNode() ? LOOK_TIME : LOOK_TIME_IN_PAGE,
      );
      return { headers };
    } catch (thrown) {
      this.#ending.signal.throwIfAborted();
      return lookFailure(thrown);
    }
  }

  /** As `look`, but after `stop`. */
  async lookAfterStop(make: MakeCall): Promise<Look> {
    return this.sendAfterStop(make, FOUND).then(({ headers }) => ({ headers }), lookFailure);
  }

  /** The failure of the upload that `thrown` stands for, with its place. */
  failure(thrown: unknown): DecantError {
    const isOurs = thrown instanceof DecantError && thrown.kind === 'target';
    const { code, fields } = isOurs ? thrown : errorOptionsOf(thrown);
    return this.failed(reasonOf(thrown), { ...(code && { code }), ...(fields && { fields }), cause: thrown });
  }

  /** Why the upload has failed, with its place. */
  failed(reason: string, options?: DecantErrorOptions): DecantError {
    const place = this.address ? ` to '${this.address.shown}'` : '';
    return new DecantError('target', `Could not upload${place}: ${reason}`, options);
  }

  /** The same, once. Fails with `Passing` where another attempt may help. */
  async once(make: MakeCall, accepted: readonly number[], signal = this.#ending.signal): Promise<UploadResponse> {
    const call = await orCancelled(this.#ending.signal, this.#prepared(make));
    const length = lengthOf(call.body);
    const { host } = new URL(call.url);
    const asking = this.#exchangeTimed(call, length, signal);
    // Who sends a stream sees whether it is taken.
    const isStream = call.body instanceof ReadableStream;
    const { response, text } = await (isStream ? asking : this.whileWaiting(asking, host, call.completing, length));
    this.#host = host;
    this.#retries.markReachable(host);
    const { status, headers } = response;
    if (!accepted.includes(status) || isRedirect(response)) throw withHost(host, unexpected(response, text));
    this.#retries.received();
    this.#sent += length;
    return { status, headers, text };
  }

  /** As `work`. Meanwhile `host` is waited for, once a body of `length` bytes should have arrived. */
  async whileWaiting<T>(work: Promise<T>, host: string, completing?: true, length = 0): Promise<T> {
    const due = performance.now() + (LATE_FACTOR * length) / this.#speed;
    const awaited: PendingRequest = {
      host,
      get waited() {
        return performance.now() - due;
      },
      completing,
    };
    this.#retries.watch(awaited);
    try {
      return await work;
    } finally {
      this.#retries.unwatch(awaited);
    }
  }

  /** The call that `make` makes. Fails with `Unanswered` where it takes too long: `sign` and `headers` are the caller's. */
  async #prepared(make: MakeCall): Promise<UploadCall> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      const reason = `the request was not ready within ${this.#timeout / 1000} seconds: 'sign' or 'headers' has not settled`;
      timer = setTimeout(() => reject(new NoAnswer(reason)), this.#timeout);
    });
    try {
      return await Promise.race([fromCaller(make), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Asks by `call`, whose body has `length` bytes, and learns how long bodies take. */
  async #exchangeTimed(
    call: UploadCall,
    length: number,
    signal: AbortSignal,
  ): Promise<{ response: Response; text: string }> {
    const slowness = this.#slowness;
    const [begin, usual] = [performance.now(), (this.#timeout * length) / BYTES_PER_TIMEOUT];
    try {
      const answer = await this.#exchange(call, this.#timeout + usual * slowness, signal);
      const time = performance.now() - begin;
      if (length > MIN_MEASURED) this.#speed = length / Math.max(1, time);
      const factor = usual > 0 ? (2 * time) / usual : MAX_SLOWNESS;
      this.#slowness = Math.max(1, Math.min(this.#slowness, factor));
      return answer;
    } catch (thrown) {
      const isSlow = thrown instanceof NoAnswerInTime && length > 0;
      if (isSlow) this.#slowness = Math.max(this.#slowness, Math.min(MAX_SLOWNESS, slowness * 2));
      throw thrown;
    }
  }

  /**
   * As `send`, for the request that begins an upload: `stop` lets it finish within ten seconds, so that what it has begun can be
   * removed.
   */
  async begin(make: MakeCall, accepted: readonly number[]): Promise<UploadResponse> {
    return this.survivingStop((once) => once(make, accepted));
  }

  /** As `begin`, for several requests by `once`. */
  async survivingStop<T>(attempt: (once: UploadRequests['once']) => Promise<T>): Promise<T> {
    const late = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = () => {
      timer = setTimeout(() => {
        this.#cleanUpUntil = performance.now() + SHORT_CLEAN_UP_TIME;
        late.abort();
      }, CLEAN_UP_TIME);
    };
    this.#ending.signal.addEventListener('abort', wait);
    try {
      return await this.retrying(() => attempt((make, accepted) => this.once(make, accepted, late.signal)));
    } finally {
      clearTimeout(timer);
      this.#ending.signal.removeEventListener('abort', wait);
    }
  }

  /** Ends all that is under way, but for what begins the upload. */
  stop(): void {
    this.#ending.abort();
  }

  /** The last requests, after `stop`: made again where they fail, for ten seconds together, but three at least. */
  async sendAfterStop(make: MakeCall, accepted: readonly number[]): Promise<UploadResponse> {
    const late = new AbortController();
    this.#cleanUpUntil ??= performance.now() + CLEAN_UP_TIME;
    const time = Math.max(SHORT_CLEAN_UP_TIME, this.#cleanUpUntil - performance.now());
    const timer = setTimeout(() => late.abort(), time);
    const retries = new Retries(time);
    const attempt = async (): Promise<UploadResponse> => {
      const call = await orCancelled(late.signal, fromCaller(make));
      // It was there before.
      retries.markReachable(new URL(call.url).host);
      const { response, text } = await this.#exchange(call, time, late.signal);
      if (!accepted.includes(response.status)) throw unexpected(response, text);
      return { status: response.status, headers: response.headers, text };
    };
    try {
      return await retries.run(attempt, () => false, late.signal);
    } catch (thrown) {
      throw late.signal.aborted ? new Error(`no answer came within ${Math.round(time / 1000)} seconds`) : thrown;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Has the server remove what was uploaded, after `stop`. Fails with `left-behind` where it does not. */
  async remove(make: MakeCall, place = this.address?.shown): Promise<UploadResponse> {
    try {
      return await this.sendAfterStop(make, REMOVED);
    } catch (thrown) {
      throw leftBehind(place, thrown);
    }
  }

  /** The error of an upload that may be there: `thrown` says why nobody knows. */
  perhapsLeftBehind(thrown: unknown): DecantError {
    return leftBehind(this.address?.shown, thrown, true);
  }

  /** The error of an upload that was completed before it was given up: perhaps, if there is a `doubt`. */
  completedBefore(doubt?: string): DecantError {
    return completedAt(this.address?.shown, doubt);
  }

  /**
   * Fails with `Unanswered` where no answer comes within `time`, in milliseconds, or nothing more of it, and in any way once
   * `signal` is aborted.
   */
  async #exchange(call: UploadCall, time: number, signal: AbortSignal): Promise<{ response: Response; text: string }> {
    const ending = new AbortController();
    const end = () => ending.abort();
    let isOverdue = false;
    const ring = () => {
      isOverdue = true;
      end();
    };
    // Who sends a stream sees whether it is taken.
    let timer = call.body instanceof ReadableStream ? undefined : setTimeout(ring, Math.min(LONGEST_TIMER, time));
    signal.addEventListener('abort', end);
    try {
      signal.throwIfAborted();
      // A fetch of the caller's own may not listen to it.
      const response = await orCancelled(ending.signal, this.#fetch(call, ending.signal));
      // Byte by byte it may take so long. S3 sends spaces while it completes an object, and may do that for longer.
      const last = performance.now() + (call.completing ? Number.POSITIVE_INFINITY : this.#patience);
      const timeout = call.completing ? Math.max(MIN_SPACE_INTERVAL, this.#timeout) : this.#timeout;
      const text = await textOf(response, ending.signal, () => {
        clearTimeout(timer);
        timer = setTimeout(ring, Math.min(timeout, Math.max(0, last - performance.now())));
      });
      return { response, text };
    } catch (thrown) {
      // What still comes is nobody's.
      end();
      if (thrown instanceof EndlessResponse) throw thrown;
      const failure = isOverdue || signal.aborted ? undefined : namedFailureIn(thrown);
      if (failure) throw failure;
      const Kind = isOverdue ? NoAnswerInTime : NoAnswer;
      const reason = isOverdue
        ? `no answer came within ${Math.ceil(time / 1000)} seconds`
        : noAnswerMessage(call, thrown);
      throw new Kind(reason, undefined, { cause: thrown, host: new URL(call.url).host });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    }
  }

  #fetch({ method, url, headers = {}, body, sees308 = false }: UploadCall, signal: AbortSignal): Promise<Response> {
    const { credentials } = this.options;
    // A signed URL may have a user and a password, which `fetch` refuses.
    const { url: place, authorization } = addressOf(url);
    return (this.options.fetch ?? fetch)(place, {
      method,
      headers: { ...(authorization === undefined ? {} : { Authorization: authorization }), ...headers },
      signal,
      cache: 'no-store',
      redirect: sees308 && !isNode() ? 'follow' : 'manual',
      ...(body === undefined ? {} : { body: body as BodyInit }),
      ...(body instanceof ReadableStream ? streaming() : {}),
      ...(credentials ? { credentials } : {}),
    });
  }
}

/** What is known of an object where HEAD has failed with `thrown`. */
function lookFailure(thrown: unknown): Look {
  if (thrown instanceof RequestRefused && MISSING.includes(thrown.status)) return 'missing';
  return { refusal: thrown instanceof RequestRefused ? `the server answered ${thrown.status}` : reasonOf(thrown) };
}

/** How a stream is sent. Node keeps all of one that it could have to send again: unless it follows no redirect, and has no window. */
const streaming = () => ({
  duplex: 'half' as const,
  ...(isNode() ? { redirect: 'error' as const, window: null } : {}),
});

/** How many bytes of a body have to arrive before its answer. A stream has no end yet. */
function lengthOf(body: UploadCall['body']): number {
  if (body === undefined || body instanceof ReadableStream) return 0;
  return typeof body === 'string' ? body.length : sizeOf(body);
}

/** No answer has come in time. */
class NoAnswerInTime extends NoAnswer {}
class EndlessResponse extends Error {}

/** The text of an answer; `came` is called whenever something has come of it. Fails with `Endless` where it has too much. */
async function textOf({ body }: Response, signal: AbortSignal, came: () => void): Promise<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    came();
    const { value } = (reader && (await orCancelled(signal, reader.read()))) ?? {};
    if (!value) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > MAX_RESPONSE) throw new EndlessResponse('the answer of the server does not end');
  }
}

function noAnswerMessage({ url, body }: UploadCall, cause: unknown): string {
  // Node says what was wrong one level deeper.
  const reason = reasonOf(cause instanceof Error && cause.cause !== undefined ? cause.cause : cause);
  const { origin } = new URL(url);
  // Of a stream, Node does not say which of the two it was.
  const isPerhaps = body instanceof ReadableStream && isNode() ? ', or it redirects elsewhere' : '';
  if (typeof document === 'undefined' || location.origin === origin) {
    return `no answer came from ${origin}${isPerhaps} (${reason})`;
  }
  return `no answer came from ${origin}, or it does not allow pages of other origins to write there: then its CORS rules have to name this page's origin, the method and the headers`;
}

/** Whether it is one, or was followed by the browser. */
const isRedirect = ({ type, redirected }: Response): boolean => type === 'opaqueredirect' || redirected;

/** The error of an answer that is no success, with the server's own words where it has some. */
function unexpected(response: Response, text: string): Error {
  const isElsewhere = isRedirect(response) || (response.status >= 300 && response.status < 400);
  if (isElsewhere) return new Error('the server redirects elsewhere; give the address that it redirects to');
  if (response.ok) {
    const { status, statusText } = response;
    const reason = `the server answered ${status}${statusText && ` ${statusText}`}, which this request does not expect`;
    return new RequestRefused(`${reason}; ${OTHER_SENDER}`, status);
  }
  const error = failureOf(response, HINTS);
  const { code, words } = serverError(text);
  if (words === '') return error;
  const message = `${error.message} (${words})`;
  if (error instanceof TransientFailure)
    return new TransientFailure(message, error.retryAfter, { status: error.status });
  return isTransient(code)
    ? new TransientFailure(message, undefined, { status: response.status })
    : new RequestRefused(message, error.status, code);
}

/** `failure`, which is that of `host`. */
function withHost(host: string, failure: Error): Error {
  if (failure instanceof TransientFailure || failure instanceof RequestRefused) failure.host = host;
  return failure;
}
