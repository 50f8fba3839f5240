// Requests for one file: headers, redirects, time-outs, allowed addresses.

import { CodedFailure, type Fields, orCancelled, readableError } from '../errors/errors.js';
import type { Address } from './address.js';
import { bodyOf, type HttpExchange, StallTimer } from './exchange.js';
import { corsMessage, failureOf, NoAnswer, namedFailureIn, networkReason, TransientFailure } from './http-failures.js';
import { checkedResponse, checkHttpOptions, milliseconds } from './http-options.js';
import type { Fetch, HttpOptions, PendingRequest } from './http-types.js';
import { locationOf } from './location-header.js';
import { ForbiddenRequest, underPolicy } from './policy-reports.js';
import { type HeaderPairs, headersFor, secretsIn } from './request-headers.js';
import { RequestLimit, RequestSlots } from './request-limit.js';
import type { Retries } from './retries.js';

/** The differences between browsers and Node. */
export interface HttpPlatform {
  /** Whether `fetch` shows redirects; a browser follows them itself. */
  seesRedirects: boolean;
  /** Replaces the global `fetch`. */
  fetch?: () => Promise<Fetch>;
  /** A `fetch` that leaves bodies encoded. */
  fetchUndecoded?: () => Promise<Fetch>;
  /** Enforces `allowUrl`. */
  guard?: () => Promise<AddressGuard>;
}

/** Requests that connect only to allowed addresses. */
export interface AddressGuard {
  /** Resolves to the IP addresses of the host in `url`. */
  resolve(url: URL): Promise<string[]>;
  /** Lets connections for the host in `url` go to `addresses` only. */
  allow(url: URL, addresses: string[]): void;
  fetch: Fetch;
  fetchUndecoded: Fetch;
}

const MAX_REDIRECTS = 10;
/** Like a success, this status shows that the file exists. */
const RANGE_NOT_SATISFIABLE = 416;
const DEFAULT_TIMEOUT_SECONDS = 30;

type FetchInit = RequestInit & { signal: AbortSignal };

/** A response and the URL that sent it. */
interface LocatedResponse {
  response: Response;
  url: URL;
}

/** The state of a request while it is made. */
interface Hop {
  /** The URL that is requested: the address, or the target of the last redirect. */
  url: URL;
  /** The headers of the caller. */
  own: HeaderPairs;
  /** The secrets in `own`. */
  secrets: readonly string[];
}

export class HttpClient {
  /** Limits requests at once. */
  readonly slots: RequestSlots;
  readonly #timeout: number;
  /** The last redirect target, requested directly while that works: the next redirect may lead to another server. */
  #redirectedTo: URL | undefined;
  /** Whether bodies are left encoded. */
  #skipsDecoding = false;
  #guard: Promise<AddressGuard> | undefined;
  /** Whether the last bytes trickled in: then the next ones get only the time of a response. */
  #isTrickling = false;

  constructor(
    readonly address: Address,
    private readonly platform: HttpPlatform,
    private readonly options: HttpOptions,
    /** Reports pending requests and reachable servers to it. */
    private readonly retries: Retries,
  ) {
    checkHttpOptions(options);
    this.slots = RequestSlots.forOrigin(address.url, options.limit ?? new RequestLimit());
    this.#timeout = milliseconds('timeout', options.timeout ?? DEFAULT_TIMEOUT_SECONDS);
  }

  /** Stops decoding bodies. Returns whether that is a change. */
  skipDecoding(): boolean {
    const canSkip = !this.#skipsDecoding && !this.options.fetch && this.platform.fetchUndecoded !== undefined;
    this.#skipsDecoding ||= canSkip;
    return canSkip;
  }

  /** Makes a request. Fails with `TransientFailure` if no response comes. */
  async request(method: 'GET' | 'HEAD', range: string | undefined, signal: AbortSignal): Promise<HttpExchange> {
    signal.throwIfAborted();
    const ending = new AbortController();
    const clock = new StallTimer(this.#timeout, ending, this.#isTrickling ? this.#timeout : undefined);
    const hop: Hop = { url: this.address.url, own: [], secrets: [] };
    const awaited = pendingRequest(hop, clock);
    this.retries.watch(awaited);
    const stop = () => ending.abort();
    signal.addEventListener('abort', stop);
    const end = () => {
      signal.removeEventListener('abort', stop);
      clock.end();
      this.retries.unwatch(awaited);
      ending.abort();
    };
    try {
      const { response, url } = await this.#fetch(method, range, hop, ending.signal);
      clock.responseBegan();
      this.retries.markReachable(url.host);
      const server = url.origin === this.address.url.origin ? 'the server' : url.origin;
      const next = bodyOf(response, clock, ending.signal, (trickles) => {
        this.#isTrickling = trickles;
      });
      return { response, server, host: url.host, url, secrets: hop.secrets, next, end };
    } catch (thrown) {
      end();
      if (signal.aborted) throw thrown;
      const { host } = hop.url;
      if (clock.hasExpired)
        throw new NoAnswer(this.#silenceMessage(hop.url, clock), undefined, { cause: thrown, host });
      // A server that has answered before may redirect to another place the next time.
      if (thrown instanceof ForbiddenRequest && thrown.isSent && this.retries.hasReachedAny)
        throw new NoAnswer(thrown.message, undefined, { cause: thrown, host });
      if (!(thrown instanceof FetchRejected)) throw thrown;
      const { cause } = thrown;
      throw new NoAnswer(this.#noAnswerMessage(method, hop, cause), undefined, { cause, host });
    }
  }

  #silenceMessage({ origin }: URL, { message }: StallTimer): string {
    return origin === this.address.url.origin ? message : `${message} from ${origin}`;
  }

  #noAnswerMessage(method: string, { url: { origin }, own, secrets }: Hop, cause: unknown): string {
    const followsNone = this.#redirectMode(own) === 'error';
    const redirects = followsNone ? '; or it redirects, which a browser cannot follow with these headers' : '';
    const isElsewhere = !this.platform.seesRedirects && globalThis.location?.origin !== origin;
    if (isElsewhere) return corsMessage(origin, method, own) + redirects;
    return `no answer came from ${origin} (${networkReason(cause, secrets, origin)})${redirects}`;
  }

  /** Makes the request, and keeps what is known of it in `hop`. */
  async #fetch(method: string, range: string | undefined, hop: Hop, signal: AbortSignal): Promise<LocatedResponse> {
    const own = await orCancelled(signal, headersFor(this.address, this.options.headers));
    hop.own = own;
    hop.secrets = secretsIn(own);
    const ask = async (url: URL): Promise<LocatedResponse> => {
      hop.url = url;
      await this.#check(url, signal);
      const response = await this.#fetchOnce(url, await this.#initFor(method, range, url, own, signal));
      if (!response.redirected) return { response, url };
      // The browser followed the redirect.
      const last = new URL(response.url);
      await this.#check(last, signal);
      return { response, url: last };
    };
    return (await this.#requestRedirected(ask)) ?? this.#follow(ask);
  }

  /** Fails if `allowUrl` does not allow `url`. */
  async #check(url: URL, signal: AbortSignal): Promise<void> {
    const { allowUrl } = this.options;
    if (!allowUrl) return;
    const guard = await this.#madeGuard();
    const addresses = (await orCancelled(signal, guard?.resolve(url) ?? Promise.resolve([])).catch(
      rejectFetch,
    )) as string[];
    const isAllowed: unknown = await orCancelled(signal, (async () => allowUrl(new URL(url), { addresses }))());
    if (isAllowed !== true) throw new AddressNotAllowed(url);
    guard?.allow(url, addresses);
  }

  #madeGuard(): Promise<AddressGuard> | undefined {
    this.#guard ??= this.platform.guard?.();
    return this.#guard;
  }

  /** Requests the last redirect target. Resolves to `undefined` if the address must be requested again. */
  async #requestRedirected(ask: (url: URL) => Promise<LocatedResponse>): Promise<LocatedResponse | undefined> {
    const found = this.#redirectedTo;
    if (!found) return undefined;
    // Set again below if the request succeeds.
    this.#redirectedTo = undefined;
    const answered = await ask(found);
    const { response } = answered;
    if (response.ok || response.status === RANGE_NOT_SATISFIABLE) {
      this.#redirectedTo = found;
      return answered;
    }
    // The next attempt requests the address again.
    if (response.status >= 400 && failureOf(response) instanceof TransientFailure) return answered;
    await response.body?.cancel();
    return undefined;
  }

  async #follow(ask: (url: URL) => Promise<LocatedResponse>): Promise<LocatedResponse> {
    let { url } = this.address;
    let setsCookie = false;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const answered = await ask(url);
      const { response } = answered;
      const location = response.headers.get('Location');
      if (!this.platform.seesRedirects || response.status < 300 || response.status > 399 || location === null) {
        if (redirects > 0 && response.ok) this.#redirectedTo = url;
        return answered;
      }
      await response.body?.cancel();
      setsCookie ||= response.headers.has('Set-Cookie');
      url = locationOf(url, location);
    }
    throw new TooManyRedirects(url.host, setsCookie);
  }

  async #initFor(
    method: string,
    range: string | undefined,
    url: URL,
    own: HeaderPairs,
    signal: AbortSignal,
  ): Promise<FetchInit> {
    const headers = Object.fromEntries(await headersFor(this.address, own, url));
    if (range !== undefined) headers.range = range;
    const { credentials } = this.options;
    const redirect = this.#redirectMode(own);
    return { method, headers, signal, cache: 'no-store', redirect, ...(credentials ? { credentials } : {}) };
  }

  async #fetchOnce(url: URL, init: FetchInit): Promise<Response> {
    let response: unknown;
    try {
      const ask = await this.#fetchFunction();
      // A custom `fetch` may ignore the signal.
      response = await orCancelled(
        init.signal,
        underPolicy(url.origin, () => ask(url, init)),
      );
    } catch (thrown) {
      const cause = readableError(thrown);
      throw namedFailureIn(cause, url.host) ?? new FetchRejected(cause);
    }
    return checkedResponse(response);
  }

  async #fetchFunction(): Promise<Fetch> {
    const { fetch: own, allowUrl } = this.options;
    if (own) return own;
    const guard = allowUrl && (await this.#madeGuard());
    if (guard) return this.#skipsDecoding ? guard.fetchUndecoded : guard.fetch;
    const made = this.#skipsDecoding ? this.platform.fetchUndecoded : this.platform.fetch;
    return (await made?.()) ?? fetch;
  }

  /** A browser drops only `Authorization` on a redirect to another origin: with other headers, redirects are refused. */
  #redirectMode(own: HeaderPairs): RequestRedirect {
    if (this.platform.seesRedirects) return 'manual';
    return own.every(([name]) => name === 'authorization') ? 'follow' : 'error';
  }
}

const pendingRequest = (hop: { url: URL }, clock: StallTimer): PendingRequest => ({
  get host() {
    return hop.url.host;
  },
  get waited() {
    return clock.waited;
  },
});

/** `fetch` rejected. */
class FetchRejected extends Error {
  constructor(cause: unknown) {
    super('', { cause });
  }
}

/** A server that sets a cookie, and redirects until the cookie comes back, needs the cookie from the caller. */
class TooManyRedirects extends CodedFailure {
  readonly code = 'too-many-redirects';
  readonly fields: Fields;

  constructor(host: string, setsCookie: boolean) {
    const advice = setsCookie ? '; it sets a cookie and may need it in the next request: pass a Cookie header' : '';
    super(`the server redirects more than ${MAX_REDIRECTS} times${advice}`);
    this.fields = { host, cookie: setsCookie };
  }
}

/** `allowUrl` did not return true. */
export class AddressNotAllowed extends CodedFailure {
  readonly code = 'address-not-allowed';
  readonly fields: Fields;

  constructor({ origin, host }: URL) {
    super(`'allowUrl' does not allow requests to ${origin}`);
    this.fields = { host };
  }
}

function rejectFetch(cause: unknown): never {
  throw new FetchRejected(cause);
}
