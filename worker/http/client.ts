// Requests for one file: to whom they go, with which headers, and how redirects are followed.

import { orCancelled, reasonOf } from '../errors.js';
import type { Address } from './address.js';
import { Overloaded, Passing, refusal, Unanswered } from './failures.js';
import { headersFor } from './headers.js';
import { locationOf } from './location.js';
import { timeOf } from './seconds.js';
import type { Fetch, HttpOptions } from './types.js';

/** What differs between browsers and Node. */
export interface HttpPlatform {
  /** Whether redirects can be followed one by one; a browser shows none. */
  seesRedirects: boolean;
  /** By what requests are made, where that is not the global `fetch`. */
  fetch?: () => Promise<Fetch>;
}

const MOST_REDIRECTS = 10;
/** Range Not Satisfiable: an answer like that of the file. */
const NOT_THERE = 416;
const TIMEOUT = 30;

type Asking = RequestInit & { signal: AbortSignal };

/** A request under way. */
export interface Exchange {
  response: Response;
  /** The next bytes of the body; `undefined` at its end. Fails with `Passing` where the connection breaks or stalls. */
  next(): Promise<Uint8Array | undefined>;
  /** Ends it, whatever is still to come. */
  end(): void;
}

export class Client {
  readonly #timeout: number;
  /** Where the address was redirected to, which may be another place each time: it is asked directly as long as that works. */
  #found: URL | undefined;

  constructor(
    readonly address: Address,
    private readonly platform: HttpPlatform,
    private readonly options: HttpOptions,
  ) {
    this.#timeout = timeOf('timeout', options.timeout ?? TIMEOUT);
  }

  /** Fails with `Passing` where no answer comes. */
  async ask(method: 'GET' | 'HEAD', range: string | undefined, signal: AbortSignal): Promise<Exchange> {
    signal.throwIfAborted();
    const ending = new AbortController();
    const clock = new Clock(this.#timeout, ending);
    const stop = () => ending.abort();
    signal.addEventListener('abort', stop);
    const end = () => {
      signal.removeEventListener('abort', stop);
      clock.stop();
      ending.abort();
    };
    try {
      const response = await this.#fetch(method, range, ending.signal);
      clock.stop();
      const reader = response.body?.getReader();
      const next = async () => {
        // Only while somebody waits for the bytes.
        clock.start();
        try {
          // In Node a read that has begun does not always end with its request.
          const result = reader && (await orCancelled(ending.signal, reader.read()));
          return result?.value;
        } catch (cause) {
          if (clock.hasRung) throw new Overloaded(this.#silence, undefined, { cause });
          throw new Passing('the connection broke', undefined, { cause });
        } finally {
          clock.stop();
        }
      };
      return { response, next, end };
    } catch (thrown) {
      end();
      if (signal.aborted) throw thrown;
      if (clock.hasRung) throw new Unanswered(this.#silence, undefined, { cause: thrown });
      if (!(thrown instanceof Refused)) throw thrown;
      const { cause } = thrown;
      throw new Unanswered(this.#unanswered(cause), undefined, { cause });
    }
  }

  get #silence(): string {
    return `no byte came for ${this.#timeout / 1000} seconds`;
  }

  #unanswered(cause: unknown): string {
    // Node says what was wrong one level deeper.
    const reason = reasonOf(cause instanceof Error && cause.cause !== undefined ? cause.cause : cause);
    const { origin } = this.address.url;
    const isElsewhere = !this.platform.seesRedirects && globalThis.location?.origin !== origin;
    if (!isElsewhere) return `no answer came from ${origin} (${reason})`;
    return `no answer came from ${origin}, or it does not allow pages of other origins to read the file: then it has to send Access-Control-Allow-Origin`;
  }

  async #fetch(method: string, range: string | undefined, signal: AbortSignal): Promise<Response> {
    const own = await orCancelled(signal, headersFor(this.address, this.options.headers));
    const ask = async (url: URL) => this.#ask(url, await this.#request(method, range, url, own, signal));
    return (await this.#askFound(ask)) ?? this.#follow(ask);
  }

  /** What the place answers to which the address was redirected; `undefined` where that has to be asked for again. */
  async #askFound(ask: (url: URL) => Promise<Response>): Promise<Response | undefined> {
    const found = this.#found;
    if (!found) return undefined;
    // Unless it answers.
    this.#found = undefined;
    const response = await ask(found);
    if (response.ok || response.status === NOT_THERE) {
      this.#found = found;
      return response;
    }
    // The next attempt asks the address again.
    if (response.status >= 400 && refusal(response) instanceof Passing) return response;
    await response.body?.cancel();
    return undefined;
  }

  async #follow(ask: (url: URL) => Promise<Response>): Promise<Response> {
    let { url } = this.address;
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
      const response = await ask(url);
      const location = response.headers.get('Location');
      if (!this.platform.seesRedirects || response.status < 300 || response.status > 399 || location === null) {
        if (redirects > 0 && response.ok) this.#found = url;
        return response;
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
      const ask = this.options.fetch ?? (await this.platform.fetch?.()) ?? fetch;
      // One of the caller's own may not listen to it.
      return await orCancelled(init.signal, ask(url, init));
    } catch (cause) {
      throw new Refused(cause);
    }
  }

  /** A browser takes `Authorization` to no other origin, and all other headers. */
  #redirect(own: Headers): RequestRedirect {
    if (this.platform.seesRedirects) return 'manual';
    return [...own.keys()].every((name) => name === 'authorization') ? 'follow' : 'error';
  }
}

/** `fetch` has rejected. */
class Refused extends Error {
  constructor(cause: unknown) {
    super('', { cause });
  }
}

/** Ends what has stalled. It runs from the beginning. */
class Clock {
  hasRung = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly timeout: number,
    private readonly ending: AbortController,
  ) {
    this.start();
  }

  start(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.hasRung = true;
      this.ending.abort();
    }, this.timeout);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
