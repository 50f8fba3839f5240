// The requests of an upload: retries, times for bodies, and clean-up after a cancel.

import { DecantError, type DecantErrorOptions, errorOptionsOf, orCancelled, reasonOf } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import { within } from '../errors/signals.js';
import type { Address } from '../http/address.js';
import { NoAnswer, RequestRefused, TransientFailure } from '../http/http-failures.js';
import { checkHttpOptions, milliseconds } from '../http/http-options.js';
import type { PendingRequest } from '../http/http-types.js';
import { madeLocationOf } from '../http/location-header.js';
import { fromCaller, headersFor } from '../http/request-headers.js';
import { Retries } from '../http/retries.js';
import type { Network, ReadableOutput } from '../public/types.js';
import { isNode, lengthOf } from './request-body.js';
import { bareEtag } from './responses.js';
import { completedAt, leftBehind, objectDiffers } from './upload-errors.js';
import { failureIn, NoAnswerInTime, type UploadCall, UploadExchange } from './upload-exchange.js';
import type { UploadOptions } from './upload-options.js';
import { withHost } from './upload-responses.js';

/** In seconds. */
export const DEFAULT_PATIENCE = 600;
export const DEFAULT_TIMEOUT = 30;
/** The assumed speed of the first body, in bytes per millisecond. */
const FIRST_SPEED = (2 << 20) / 1000;
/** A response is late if its body took this many times as long as the last one. */
const LATE_FACTOR = 2;
/** A request gets another `timeout` for each of this many bytes of its body. */
const BYTES_PER_TIMEOUT = 2 << 20;
/** Shorter bodies do not measure the speed; in bytes. */
const MIN_MEASURED = 256 << 10;
/** The upper bound on the factor by which the limit for bodies grows. */
const MAX_SLOWNESS = 16;
/** For removing an upload, in milliseconds. */
const CLEAN_UP_TIME = 10_000;
/** For removing an upload from a server that was silent for `CLEAN_UP_TIME`; in milliseconds. */
const SHORT_CLEAN_UP_TIME = 3_000;
/** The part of `CLEAN_UP_TIME` for the response to a request that completes the object, in milliseconds. */
const LAST_RESPONSE_TIME = 3_000;
/** For a HEAD of the object, in milliseconds. */
const LOOK_TIME = 60_000;
/** Shorter in a page, which cannot distinguish a broken network from CORS rules without HEAD; in milliseconds. */
const LOOK_TIME_IN_PAGE = 3_000;
/** The upload is gone. 499 is Google's. */
const REMOVED = [200, 202, 204, 404, 410, 499];
/** The body of a page or of an error: no server answers a removal with it. */
const MARKUP = /^\s*</;
const NOT_REMOVED = 'the server answered with a page or an error instead of removing the upload';
const MISSING = [404, 410];
const FOUND = [200, 204];

export interface UploadResponse {
  status: number;
  headers: Headers;
  text: string;
}

/** The result of HEAD: the object's headers, the status that says that it is missing, or why the server cannot be asked. */
export type Look = { headers: Headers } | { missing: number } | { refusal: string };

/** Where an object can be read and removed, and the headers that the protocol needs for that. */
export interface ObjectAddress {
  url: URL;
  headers?: Record<string, string>;
  /** That of the object when it was confirmed, if it has one. */
  etag?: string;
}

interface HeaderChoices {
  url?: URL;
  given?: UploadOptions['headers'];
  defaults?: Record<string, string>;
}

/** Makes a call. Called for each attempt, since signatures and tokens expire. */
export type MakeCall = () => UploadCall | Promise<UploadCall>;

export class UploadRequests {
  #sent = 0;
  /** The host of the last response. */
  #host: string | undefined;
  readonly #ending = new AbortController();
  readonly #retries: Retries;
  readonly #exchange: UploadExchange;
  /** In milliseconds. */
  readonly #timeout: number;
  /** The factor on the time for bodies: doubles after a time-out, until one is fast again. */
  #slowness = 1;
  /** The speed of the last body with a response, in bytes per millisecond. */
  #speed = FIRST_SPEED;
  /** The host where the upload continues, if its URL has another host. */
  #continuedAt: string | undefined;
  /** The deadline for removing the upload, by `performance.now()`. */
  #cleanUpUntil: number | undefined;
  /** The errors that name the URL already. */
  readonly #failures = new WeakSet<DecantError>();

  constructor(
    /** The upload's URL, if known. */
    private readonly address: Address | undefined,
    private readonly options: UploadOptions,
  ) {
    checkHttpOptions(options);
    const { patience } = options;
    this.#retries = new Retries(patience === undefined ? undefined : milliseconds('patience', patience));
    this.#timeout = milliseconds('timeout', options.timeout ?? DEFAULT_TIMEOUT);
    this.#exchange = new UploadExchange(options, this.#timeout, milliseconds('patience', patience ?? DEFAULT_PATIENCE));
  }

  /** Counts bytes as sent when the response has arrived. */
  get network(): Network {
    return { received: 0, sent: this.#sent, ...this.#retries.network };
  }

  /**
   * Resolves to the headers of a request to `url`: the caller's `given`, and those of the protocol. `own` replace the caller's of
   * the same name in any case, `defaults` give way to them.
   */
  async headers(
    own: Record<string, string> = {},
    { url, given = this.options.headers, defaults = {} }: HeaderChoices = {},
  ): Promise<Record<string, string>> {
    const headers = new Headers(defaults);
    const callers = this.address ? await headersFor(this.address, given, url) : [];
    for (const [name, value] of callers) headers.set(name, value);
    for (const [name, value] of Object.entries(own)) headers.set(name, value);
    return Object.fromEntries(headers);
  }

  /** Resolves the Location header of the server at `from`, where the upload continues. */
  continuation(from: URL, location: string): URL {
    try {
      const url = madeLocationOf(from, location);
      if (url.host !== from.host) this.#continuedAt = url.host;
      return url;
    } catch (thrown) {
      throw this.failure(thrown);
    }
  }

  /** Resolves to a response with one of the statuses `accepted`, with retries. */
  async send(call: MakeCall, accepted: readonly number[]): Promise<UploadResponse> {
    return this.retrying(() => this.once(call, accepted));
  }

  /** Runs `attempt`, with retries after transient failures. Fails with an error that names the URL. */
  async retrying<T>(attempt: () => Promise<T>): Promise<T> {
    try {
      // A retry sends the whole request, so there is no progress in between.
      return await this.#retries.run(
        () => this.#withHost(attempt),
        () => false,
        this.#ending.signal,
      );
    } catch (thrown) {
      throw this.failure(thrown);
    }
  }

  /** Sets the host of a failure found in a response. */
  async #withHost<T>(attempt: () => Promise<T>): Promise<T> {
    try {
      return await attempt();
    } catch (thrown) {
      if (thrown instanceof TransientFailure) thrown.host ??= this.#host;
      throw thrown;
    }
  }

  /** Checks the object by HEAD. Fails only if the upload was stopped. */
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

  /** Checks the object by HEAD, after `stop`. */
  async lookAfterStop(make: MakeCall): Promise<Look> {
    return this.sendAfterStop(make, FOUND).then(({ headers }) => ({ headers }), lookFailure);
  }

  /** Makes the error of the upload from `thrown`, with the URL. */
  failure(thrown: unknown): DecantError {
    if (thrown instanceof DecantError && this.#failures.has(thrown)) return thrown;
    const isOurs = thrown instanceof DecantError && thrown.kind === 'target';
    const { code, fields } = isOurs ? thrown : errorOptionsOf(thrown);
    return this.failed(reasonOf(thrown), { ...(code && { code }), ...(fields && { fields }), cause: thrown });
  }

  /** Makes an error of the upload, with the URL. */
  failed(reason: string, options?: DecantErrorOptions): DecantError {
    const to = this.address ? ` to '${this.address.shown}'` : '';
    const continued = this.#continuedAt === undefined ? '' : `, continued at ${shownText(this.#continuedAt)}`;
    const failure = new DecantError('target', `Could not upload${to}${continued}: ${reason}`, options);
    this.#failures.add(failure);
    return failure;
  }

  /** Makes one attempt. Fails with `TransientFailure` if a retry may help. */
  async once(make: MakeCall, accepted: readonly number[], signal = this.#ending.signal): Promise<UploadResponse> {
    const call = await orCancelled(this.#ending.signal, this.#prepared(make));
    const length = lengthOf(call.body);
    const { host } = new URL(call.url);
    const asking = this.#exchangeTimed(call, length, signal);
    // The writer of a stream detects stalls itself.
    const isStream = call.body instanceof ReadableStream;
    const { response, text } = await (isStream ? asking : this.whileWaiting(asking, host, call.completing, length));
    this.#host = host;
    this.#retries.markReachable(host);
    const { status, headers } = response;
    const failure = failureIn(call, accepted, response, text);
    if (failure) throw withHost(host, failure);
    this.#retries.received();
    this.#sent += length;
    return { status, headers, text };
  }

  /** Reports `host` as waited for during `work`, from when a body of `length` bytes should have arrived. */
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

  /** Runs `make`. Fails with `NoAnswer` after the time-out: it calls the caller's `sign` and `headers`. */
  #prepared(make: MakeCall): Promise<UploadCall> {
    return within(this.#timeout, fromCaller(make), () => {
      throw new NoAnswer(`'sign' or 'headers' did not settle within ${this.#timeout / 1000} seconds`);
    });
  }

  /** Makes the request, with a time-out for a body of `length` bytes, and measures the speed. */
  async #exchangeTimed(
    call: UploadCall,
    length: number,
    signal: AbortSignal,
  ): Promise<{ response: Response; text: string }> {
    const slowness = this.#slowness;
    const [begin, usual] = [performance.now(), (this.#timeout * length) / BYTES_PER_TIMEOUT];
    try {
      const answer = await this.#exchange.make(call, this.#timeout + usual * slowness, signal);
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
   * Sends the request that begins an upload. After `stop`, it may still finish within ten seconds, so that the upload can be
   * removed.
   */
  async begin(make: MakeCall, accepted: readonly number[]): Promise<UploadResponse> {
    return this.survivingStop((once) => once(make, accepted));
  }

  /** Like `begin`, for an `attempt` of several requests. */
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

  /** Waits for `pending`, which completes the object, before `stop`: at most three of the ten seconds of `sendAfterStop`. */
  async lastResponse(pending: Promise<unknown>): Promise<void> {
    this.#cleanUpUntil ??= performance.now() + CLEAN_UP_TIME;
    // A failure is reported by the call that waits for the response.
    const settled = pending.catch(() => {});
    await within(LAST_RESPONSE_TIME, settled, () => {});
  }

  /** Aborts all requests except the one that begins the upload. */
  stop(): void {
    this.#ending.abort();
  }

  /** Sends a request after `stop`. All of them together get ten seconds with retries, each at least three. */
  async sendAfterStop(make: MakeCall, accepted: readonly number[]): Promise<UploadResponse> {
    const late = new AbortController();
    this.#cleanUpUntil ??= performance.now() + CLEAN_UP_TIME;
    const time = Math.max(SHORT_CLEAN_UP_TIME, this.#cleanUpUntil - performance.now());
    const timer = setTimeout(() => late.abort(), time);
    const retries = new Retries(time);
    const attempt = async (): Promise<UploadResponse> => {
      const call = await orCancelled(late.signal, fromCaller(make));
      // The host has answered before.
      retries.markReachable(new URL(call.url).host);
      const { response, text } = await this.#exchange.make(call, time, late.signal);
      const failure = failureIn(call, accepted, response, text);
      if (failure) throw failure;
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

  /** The finished object, for reading it; `undefined` if its URL is unknown. */
  readable(object: ObjectAddress | undefined): ReadableOutput | undefined {
    if (!object) return undefined;
    const { url, headers } = object;
    const { fetch, credentials, timeout, patience } = this.options;
    return {
      url,
      headers: () => this.headers(headers, { url }),
      ...(fetch === undefined ? {} : { fetch }),
      ...(credentials === undefined ? {} : { credentials }),
      ...(timeout === undefined ? {} : { timeout }),
      ...(patience === undefined ? {} : { patience }),
    };
  }

  /**
   * Removes the finished object, but none with which another client has replaced it. Fails with `left-behind`, or with `object-completed` if
   * its URL is unknown.
   */
  async removeObject(object: ObjectAddress | undefined): Promise<void> {
    if (!object) throw completedAt(this.shownAddress);
    const { url, headers, etag } = object;
    const address = url.origin + url.pathname;
    this.stop();
    const call = (method: string) => async () => ({ method, url, headers: await this.headers(headers, { url }) });
    if (etag !== undefined) {
      const found = (await this.remove(call('HEAD'), address)).headers.get('ETag');
      if (found !== null && bareEtag(found) !== bareEtag(etag)) throw leftBehind(address, objectDiffers());
    }
    await this.remove(call('DELETE'), address);
  }

  /** Removes the upload from the server, after `stop`. Fails with `left-behind`. */
  async remove(make: MakeCall, address?: string): Promise<UploadResponse> {
    try {
      const answer = await this.sendAfterStop(make, REMOVED);
      if (answer.status < 300 && MARKUP.test(answer.text)) throw new RequestRefused(NOT_REMOVED, answer.status);
      return answer;
    } catch (thrown) {
      throw leftBehind(address ?? this.shownAddress, thrown);
    }
  }

  /** The URL of the object or the upload, for errors; with a caller's `sign`, of the last request. */
  get shownAddress(): string | undefined {
    return this.address?.shown ?? this.#exchange.lastAddress;
  }
}

/** Makes the result of a HEAD that failed with `thrown`. */
function lookFailure(thrown: unknown): Look {
  if (thrown instanceof RequestRefused && MISSING.includes(thrown.status)) return { missing: thrown.status };
  return { refusal: thrown instanceof RequestRefused ? `the server answered ${thrown.status}` : reasonOf(thrown) };
}
