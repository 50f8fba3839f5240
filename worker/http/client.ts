// Requests for one file: to whom they go, with which headers, and how redirects are followed.

import { type Fields, orCancelled, reasonOf } from '../errors/errors.js';
import type { Address } from './address.js';
import { bodyOf, Clock, type Exchange } from './exchange.js';
import { failureIn, HttpFailure, Passing, refusal, Unanswered } from './failures.js';
import { headersFor } from './headers.js';
import { Host, RequestLimit } from './host.js';
import { checkHttpOptions } from './http-options.js';
import { locationOf } from './location.js';
import type { Retries } from './retry.js';
import { timeOf } from './seconds.js';
import type { Awaited, Fetch, HttpOptions } from './types.js';

/** What differs between browsers and Node. */
export interface HttpPlatform {
  /** Whether redirects can be followed one by one; a browser shows none. */
  seesRedirects: boolean;
  /** By what requests are made, where that is not the global `fetch`. */
  fetch?: () => Promise<Fetch>;
  /** The same, which leaves bodies encoded as they are stored. */
  fetchStored?: () => Promise<Fetch>;
  /** For those who allow addresses one by one. */
  guard?: () => Promise<Guard>;
}

/** Requests that go to allowed addresses only. */
export interface Guard {
  /** The addresses that the name in `url` leads to. */
  resolve(url: URL): Promise<string[]>;
  /** From now on connections for `url` go to one of `addresses`. */
  allow(url: URL, addresses: string[]): void;
  fetch: Fetch;
  fetchStored: Fetch;
}

const MOST_REDIRECTS = 10;
/** Range Not Satisfiable: an answer like that of the file. */
const NOT_THERE = 416;
const TIMEOUT = 30;

type Asking = RequestInit & { signal: AbortSignal };

/** An answer, and where it came from. */
interface Answered {
  response: Response;
  url: URL;
}

export class Client {
  /** Where requests take their turns. */
  readonly host: Host;
  readonly #timeout: number;
  /** Where the address was redirected to, which may be another place each time: it is asked directly as long as that works. */
  #found: URL | undefined;
  /** Whether bodies are wanted as they are stored. */
  #wantsStored = false;
  #guard: Promise<Guard> | undefined;
  /** Whether the last bytes came one by one: the next ones are waited for as long as for an answer only. */
  #trickles = false;

  constructor(
    readonly address: Address,
    private readonly platform: HttpPlatform,
    private readonly options: HttpOptions,
    /** Is told who is asked, and who has answered. */
    private readonly retries: Retries,
  ) {
    checkHttpOptions(options);
    this.host = Host.of(address.url, options.limit ?? new RequestLimit());
    this.#timeout = timeOf('timeout', options.timeout ?? TIMEOUT);
  }

  /** Whether bodies can be asked for as they are stored, and are not yet. */
  get canStore(): boolean {
    return !this.#wantsStored && !this.options.fetch && this.platform.fetchStored !== undefined;
  }

  /** Asks for bodies as they are stored from now on. Returns whether that is another way. */
  wantStored(): boolean {
    const { canStore } = this;
    this.#wantsStored ||= canStore;
    return canStore;
  }

  /** Fails with `Passing` where no answer comes. */
  async ask(method: 'GET' | 'HEAD', range: string | undefined, signal: AbortSignal): Promise<Exchange> {
    signal.throwIfAborted();
    const ending = new AbortController();
    const clock = new Clock(this.#timeout, ending, this.#trickles ? this.#timeout : undefined);
    const hop = { url: this.address.url };
    const awaited = awaitedBy(hop, clock);
    this.retries.watch(awaited);
    const stop = () => ending.abort();
    signal.addEventListener('abort', stop);
    const end = () => {
      signal.removeEventListener('abort', stop);
      clock.stop();
      this.retries.forget(awaited);
      ending.abort();
    };
    try {
      const { response, url } = await this.#fetch(method, range, hop, ending.signal);
      clock.answered();
      this.retries.answered(url.host);
      const who = url.origin === this.address.url.origin ? 'the server' : url.origin;
      const next = bodyOf(response, clock, ending.signal, (trickles) => {
        this.#trickles = trickles;
      });
      return { response, who, host: url.host, next, end };
    } catch (thrown) {
      end();
      if (signal.aborted) throw thrown;
      const { host } = hop.url;
      if (clock.hasRung) throw new Unanswered(this.#silentAt(hop.url, clock), undefined, { cause: thrown, host });
      if (!(thrown instanceof Refused)) throw thrown;
      const { cause } = thrown;
      throw new Unanswered(this.#unanswered(hop.url, cause), undefined, { cause, host });
    }
  }

  #silentAt({ origin }: URL, { silence }: Clock): string {
    return origin === this.address.url.origin ? silence : `${silence} from ${origin}`;
  }

  #unanswered({ origin }: URL, cause: unknown): string {
    // Node says what was wrong one level deeper.
    const reason = reasonOf(cause instanceof Error && cause.cause !== undefined ? cause.cause : cause);
    const isElsewhere = !this.platform.seesRedirects && globalThis.location?.origin !== origin;
    if (!isElsewhere) return `no answer came from ${origin} (${reason})`;
    return `no answer came from ${origin}, or it does not allow pages of other origins to read the file: then it has to send Access-Control-Allow-Origin`;
  }

  /** `hop` gets the address that is asked. */
  async #fetch(method: string, range: string | undefined, hop: { url: URL }, signal: AbortSignal): Promise<Answered> {
    const own = await orCancelled(signal, headersFor(this.address, this.options.headers));
    const ask = async (url: URL): Promise<Answered> => {
      hop.url = url;
      await this.#check(url, signal);
      const response = await this.#ask(url, await this.#request(method, range, url, own, signal));
      if (!response.redirected) return { response, url };
      // A browser has followed by itself.
      const last = new URL(response.url);
      await this.#check(last, signal);
      return { response, url: last };
    };
    return (await this.#askFound(ask)) ?? this.#follow(ask);
  }

  /** Fails where the caller does not allow `url`. */
  async #check(url: URL, signal: AbortSignal): Promise<void> {
    const { allowUrl } = this.options;
    if (!allowUrl) return;
    const guard = await this.#guarded();
    const addresses = (await orCancelled(signal, guard?.resolve(url) ?? Promise.resolve([])).catch(refuse)) as string[];
    const isAllowed: unknown = await orCancelled(signal, (async () => allowUrl(new URL(url), { addresses }))());
    if (isAllowed !== true) throw new NotAllowed(url);
    guard?.allow(url, addresses);
  }

  #guarded(): Promise<Guard> | undefined {
    this.#guard ??= this.platform.guard?.();
    return this.#guard;
  }

  /** What the place answers to which the address was redirected; `undefined` where that has to be asked for again. */
  async #askFound(ask: (url: URL) => Promise<Answered>): Promise<Answered | undefined> {
    const found = this.#found;
    if (!found) return undefined;
    // Unless it answers.
    this.#found = undefined;
    const answered = await ask(found);
    const { response } = answered;
    if (response.ok || response.status === NOT_THERE) {
      this.#found = found;
      return answered;
    }
    // The next attempt asks the address again.
    if (response.status >= 400 && refusal(response) instanceof Passing) return answered;
    await response.body?.cancel();
    return undefined;
  }

  async #follow(ask: (url: URL) => Promise<Answered>): Promise<Answered> {
    let { url } = this.address;
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
      const answered = await ask(url);
      const { response } = answered;
      const location = response.headers.get('Location');
      if (!this.platform.seesRedirects || response.status < 300 || response.status > 399 || location === null) {
        if (redirects > 0 && response.ok) this.#found = url;
        return answered;
      }
      await response.body?.cancel();
      url = locationOf(url, location);
    }
    throw new Error(`the server redirects more than ${MOST_REDIRECTS} times`);
  }

  async #request(
    method: string,
    range: string | undefined,
    url: URL,
    own: Headers,
    signal: AbortSignal,
  ): Promise<Asking> {
    const headers = await headersFor(this.address, own, url);
    if (range !== undefined) headers.set('Range', range);
    const { credentials } = this.options;
    const redirect = this.#redirect(own);
    return { method, headers, signal, cache: 'no-store', redirect, ...(credentials ? { credentials } : {}) };
  }

  async #ask(url: URL, init: Asking): Promise<Response> {
    try {
      const ask = await this.#asking();
      // One of the caller's own may not listen to it.
      return await orCancelled(init.signal, ask(url, init));
    } catch (cause) {
      throw failureIn(cause) ?? new Refused(cause);
    }
  }

  /** The `fetch` by which requests are made. */
  async #asking(): Promise<Fetch> {
    const { fetch: own, allowUrl } = this.options;
    if (own) return own;
    const guard = allowUrl && (await this.#guarded());
    if (guard) return this.#wantsStored ? guard.fetchStored : guard.fetch;
    const made = this.#wantsStored ? this.platform.fetchStored : this.platform.fetch;
    return (await made?.()) ?? fetch;
  }

  /** A browser takes `Authorization` to no other origin, and all other headers. */
  #redirect(own: Headers): RequestRedirect {
    if (this.platform.seesRedirects) return 'manual';
    return [...own.keys()].every((name) => name === 'authorization') ? 'follow' : 'error';
  }
}

const awaitedBy = (hop: { url: URL }, clock: Clock): Awaited => ({
  get host() {
    return hop.url.host;
  },
  get waited() {
    return clock.waited;
  },
});

/** `fetch` has rejected. */
class Refused extends Error {
  constructor(cause: unknown) {
    super('', { cause });
  }
}

/** The caller does not allow to ask there. */
export class NotAllowed extends HttpFailure {
  readonly code = 'address-not-allowed';
  readonly fields: Fields;

  constructor({ origin, host }: URL) {
    super(`${origin} may not be asked`);
    this.fields = { host };
  }
}

function refuse(cause: unknown): never {
  throw new Refused(cause);
}
