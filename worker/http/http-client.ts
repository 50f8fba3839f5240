// Requests for one file: to whom they go, with which headers, and how redirects are followed.

import { type Fields, orCancelled, reasonOf } from '../errors/errors.js';
import type { Address } from './address.js';
import { bodyOf, type HttpExchange, StallTimer } from './exchange.js';
import { failureOf, HttpFailure, NoAnswer, namedFailureIn, TransientFailure } from './http-failures.js';
import { checkHttpOptions } from './http-options.js';
import type { Fetch, HttpOptions, PendingRequest } from './http-types.js';
import { locationOf } from './location-header.js';
import { headersFor } from './request-headers.js';
import { RequestLimit, RequestSlots } from './request-limit.js';
import type { Retries } from './retries.js';
import { milliseconds } from './time-outs.js';

/** What differs between browsers and Node. */
export interface HttpPlatform {
  /** Whether redirects can be followed one by one; a browser shows none. */
  seesRedirects: boolean;
  /** By what requests are made, where that is not the global `fetch`. */
  fetch?: () => Promise<Fetch>;
  /** The same, which leaves bodies encoded as they are stored. */
  fetchUndecoded?: () => Promise<Fetch>;
  /** For those who allow addresses one by one. */
  guard?: () => Promise<AddressGuard>;
}

/** Requests that go to allowed addresses only. */
export interface AddressGuard {
  /** The addresses that the name in `url` leads to. */
  resolve(url: URL): Promise<string[]>;
  /** From now on connections for `url` go to one of `addresses`. */
  allow(url: URL, addresses: string[]): void;
  fetch: Fetch;
  fetchUndecoded: Fetch;
}

const MAX_REDIRECTS = 10;
/** Range Not Satisfiable: an answer like that of the file. */
const RANGE_NOT_SATISFIABLE = 416;
const DEFAULT_TIMEOUT = 30;

type FetchInit = RequestInit & { signal: AbortSignal };

/** An answer, and where it came from. */
interface LocatedResponse {
  response: Response;
  url: URL;
}

export class HttpClient {
  /** Where requests take their turns. */
  readonly slots: RequestSlots;
  readonly #timeout: number;
  /** Where the address was redirected to, which may be another place each time: it is asked directly as long as that works. */
  #redirectedTo: URL | undefined;
  /** Whether bodies are wanted as they are stored. */
  #skipsDecoding = false;
  #guard: Promise<AddressGuard> | undefined;
  /** Whether the last bytes came one by one: the next ones are waited for as long as for an answer only. */
  #isTrickling = false;

  constructor(
    readonly address: Address,
    private readonly platform: HttpPlatform,
    private readonly options: HttpOptions,
    /** Is told who is asked, and who has answered. */
    private readonly retries: Retries,
  ) {
    checkHttpOptions(options);
    this.slots = RequestSlots.forOrigin(address.url, options.limit ?? new RequestLimit());
    this.#timeout = milliseconds('timeout', options.timeout ?? DEFAULT_TIMEOUT);
  }

  /** Whether bodies can be asked for as they are stored, and are not yet. */
  get canSkipDecoding(): boolean {
    return !this.#skipsDecoding && !this.options.fetch && this.platform.fetchUndecoded !== undefined;
  }

  /** Asks for bodies as they are stored from now on. Returns whether that is another way. */
  skipDecoding(): boolean {
    const { canSkipDecoding } = this;
    this.#skipsDecoding ||= canSkipDecoding;
    return canSkipDecoding;
  }

  /** Fails with `Passing` where no answer comes. */
  async request(method: 'GET' | 'HEAD', range: string | undefined, signal: AbortSignal): Promise<HttpExchange> {
    signal.throwIfAborted();
    const ending = new AbortController();
    const clock = new StallTimer(this.#timeout, ending, this.#isTrickling ? this.#timeout : undefined);
    const hop = { url: this.address.url };
    const awaited = pendingRequest(hop, clock);
    this.retries.watch(awaited);
    const stop = () => ending.abort();
    signal.addEventListener('abort', stop);
    const end = () => {
      signal.removeEventListener('abort', stop);
      clock.stop();
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
      return { response, server, host: url.host, next, end };
    } catch (thrown) {
      end();
      if (signal.aborted) throw thrown;
      const { host } = hop.url;
      if (clock.hasExpired)
        throw new NoAnswer(this.#silenceMessage(hop.url, clock), undefined, { cause: thrown, host });
      if (!(thrown instanceof FetchRejected)) throw thrown;
      const { cause } = thrown;
      throw new NoAnswer(this.#noAnswerMessage(hop.url, cause), undefined, { cause, host });
    }
  }

  #silenceMessage({ origin }: URL, { message }: StallTimer): string {
    return origin === this.address.url.origin ? message : `${message} from ${origin}`;
  }

  #noAnswerMessage({ origin }: URL, cause: unknown): string {
    // Node says what was wrong one level deeper.
    const reason = reasonOf(cause instanceof Error && cause.cause !== undefined ? cause.cause : cause);
    const isElsewhere = !this.platform.seesRedirects && globalThis.location?.origin !== origin;
    if (!isElsewhere) return `no answer came from ${origin} (${reason})`;
    return `no answer came from ${origin}, or it does not allow pages of other origins to read the file: then it has to send Access-Control-Allow-Origin`;
  }

  /** `hop` gets the address that is asked. */
  async #fetch(
    method: string,
    range: string | undefined,
    hop: { url: URL },
    signal: AbortSignal,
  ): Promise<LocatedResponse> {
    const own = await orCancelled(signal, headersFor(this.address, this.options.headers));
    const ask = async (url: URL): Promise<LocatedResponse> => {
      hop.url = url;
      await this.#check(url, signal);
      const response = await this.#fetchOnce(url, await this.#initFor(method, range, url, own, signal));
      if (!response.redirected) return { response, url };
      // A browser has followed by itself.
      const last = new URL(response.url);
      await this.#check(last, signal);
      return { response, url: last };
    };
    return (await this.#requestRedirected(ask)) ?? this.#follow(ask);
  }

  /** Fails where the caller does not allow `url`. */
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

  /** What the place answers to which the address was redirected; `undefined` where that has to be asked for again. */
  async #requestRedirected(ask: (url: URL) => Promise<LocatedResponse>): Promise<LocatedResponse | undefined> {
    const found = this.#redirectedTo;
    if (!found) return undefined;
    // Unless it answers.
    this.#redirectedTo = undefined;
    const answered = await ask(found);
    const { response } = answered;
    if (response.ok || response.status === RANGE_NOT_SATISFIABLE) {
      this.#redirectedTo = found;
      return answered;
    }
    // The next attempt asks the address again.
    if (response.status >= 400 && failureOf(response) instanceof TransientFailure) return answered;
    await response.body?.cancel();
    return undefined;
  }

  async #follow(ask: (url: URL) => Promise<LocatedResponse>): Promise<LocatedResponse> {
    let { url } = this.address;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const answered = await ask(url);
      const { response } = answered;
      const location = response.headers.get('Location');
      if (!this.platform.seesRedirects || response.status < 300 || response.status > 399 || location === null) {
        if (redirects > 0 && response.ok) this.#redirectedTo = url;
        return answered;
      }
      await response.body?.cancel();
      url = locationOf(url, location);
    }
    throw new Error(`the server redirects more than ${MAX_REDIRECTS} times`);
  }

  async #initFor(
    method: string,
    range: string | undefined,
    url: URL,
    own: Headers,
    signal: AbortSignal,
  ): Promise<FetchInit> {
    const headers = await headersFor(this.address, own, url);
    if (range !== undefined) headers.set('Range', range);
    const { credentials } = this.options;
    const redirect = this.#redirectMode(own);
    return { method, headers, signal, cache: 'no-store', redirect, ...(credentials ? { credentials } : {}) };
  }

  async #fetchOnce(url: URL, init: FetchInit): Promise<Response> {
    try {
      const ask = await this.#fetchFunction();
      // One of the caller's own may not listen to it.
      return await orCancelled(init.signal, ask(url, init));
    } catch (cause) {
      throw namedFailureIn(cause) ?? new FetchRejected(cause);
    }
  }

  /** The `fetch` by which requests are made. */
  async #fetchFunction(): Promise<Fetch> {
    const { fetch: own, allowUrl } = this.options;
    if (own) return own;
    const guard = allowUrl && (await this.#madeGuard());
    if (guard) return this.#skipsDecoding ? guard.fetchUndecoded : guard.fetch;
    const made = this.#skipsDecoding ? this.platform.fetchUndecoded : this.platform.fetch;
    return (await made?.()) ?? fetch;
  }

  /** A browser takes `Authorization` to no other origin, and all other headers. */
  #redirectMode(own: Headers): RequestRedirect {
    if (this.platform.seesRedirects) return 'manual';
    return [...own.keys()].every((name) => name === 'authorization') ? 'follow' : 'error';
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

/** `fetch` has rejected. */
class FetchRejected extends Error {
  constructor(cause: unknown) {
    super('', { cause });
  }
}

/** The caller does not allow to ask there. */
export class AddressNotAllowed extends HttpFailure {
  readonly code = 'address-not-allowed';
  readonly fields: Fields;

  constructor({ origin, host }: URL) {
    super(`${origin} may not be asked`);
    this.fields = { host };
  }
}

function rejectFetch(cause: unknown): never {
  throw new FetchRejected(cause);
}
