// Requests of one upload: counted, tried again where that may help, and ended together.

import { DecantError, reasonOf } from '../errors.js';
import { Passing, Refused, refusal, Unanswered } from '../http/failures.js';
import { headersOf } from '../http/headers.js';
import { Retries } from '../http/retry.js';
import type { Network } from '../types.js';
import type { UploadOptions } from './types.js';

/** In seconds. */
export const PATIENCE = 600;
export const TIMEOUT = 30;
/** For each so many bytes of its body a request may take `timeout` longer. */
const SLOWEST = 2 << 20;
/** How long a server is asked to forget an upload, in seconds. */
const FAREWELL = 10;
/** How much of a server's own words is told, in characters. */
const MOST_WORDS = 200;

const HINTS: Record<number, string> = {
  401: '; it asks for a user or a token',
  403: '; it does not allow this, or the address has expired',
  404: '; there is no such place, or the upload has expired',
  410: '; the upload has expired',
  412: '; something is there already',
  413: '; it takes no file of this size',
  507: '; it is full',
};

export interface Call {
  method: string;
  url: string | URL;
  headers?: Record<string, string>;
  /** A stream is sent once: such a call is made by `once`. */
  body?: Uint8Array | string | ReadableStream<Uint8Array>;
  /** Whether 308 is an answer of the protocol, which browsers show only where they may follow redirects. */
  sees308?: boolean;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** Makes a call; it is asked anew for each attempt, since signatures and tokens expire. */
export type MakeCall = () => Call | Promise<Call>;

export class Requests {
  #sent = 0;
  readonly #ending = new AbortController();
  readonly #retries: Retries;
  readonly #timeout: number;

  constructor(
    /** What messages call the place that is uploaded to, if it is known. */
    private readonly shown: string | undefined,
    private readonly options: UploadOptions,
  ) {
    this.#retries = new Retries((options.patience ?? PATIENCE) * 1000);
    this.#timeout = options.timeout ?? TIMEOUT;
  }

  /** Bytes count as sent when they are answered. */
  get network(): Network {
    return { received: 0, sent: this.#sent, retries: this.#retries.count, silence: this.#retries.silence };
  }

  /** The caller's own headers, for the origin that it has named. */
  async headers(): Promise<Record<string, string>> {
    return Object.fromEntries(await headersOf(this.options.headers));
  }

  /** An answer with one of the statuses `accepted`. What may pass is tried again. */
  async send(call: MakeCall, accepted: readonly number[]): Promise<Answer> {
    return this.retrying(() => this.once(call, accepted));
  }

  /** What `attempt` resolves to: it is made again after a failure that may pass. Other failures are told with the place. */
  async retrying<T>(attempt: () => Promise<T>): Promise<T> {
    try {
      // Each request is made again as a whole.
      return await this.#retries.run(attempt, () => false, this.#ending.signal);
    } catch (thrown) {
      throw this.failed(reasonOf(thrown), { cause: thrown });
    }
  }

  /** Why the upload has failed, with its place. */
  failed(reason: string, options?: ErrorOptions): DecantError {
    return new DecantError(
      'sink',
      `Could not upload${this.shown === undefined ? '' : ` to '${this.shown}'`}: ${reason}`,
      options,
    );
  }

  /** The same, once. Fails with `Passing` where another attempt may help. */
  async once(make: MakeCall, accepted: readonly number[]): Promise<Answer> {
    const call = await made(make);
    const length = typeof call.body === 'string' || call.body instanceof Uint8Array ? call.body.length : 0;
    const { response, text } = await this.#ask(call, this.#timeout * (1 + length / SLOWEST), this.#ending.signal);
    this.#retries.came();
    const { status, headers } = response;
    if (!accepted.includes(status)) throw refused(response, text);
    this.#sent += length;
    return { status, headers, text };
  }

  /** Ends all that is under way, and makes the last `call`, which is no matter where it fails. */
  async end(call?: MakeCall): Promise<void> {
    this.#ending.abort();
    if (!call) return;
    const farewell = async () => this.#ask(await call(), FAREWELL, new AbortController().signal);
    await farewell().catch(() => {});
  }

  /** Fails with `Unanswered` where no answer comes within `seconds`, and in any way once `signal` is aborted. */
  async #ask(call: Call, seconds: number, signal: AbortSignal): Promise<{ response: Response; text: string }> {
    const ending = new AbortController();
    const end = () => ending.abort();
    let isOverdue = false;
    const ring = () => {
      isOverdue = true;
      end();
    };
    // Who sends a stream sees whether it is taken.
    const timer = call.body instanceof ReadableStream ? undefined : setTimeout(ring, seconds * 1000);
    signal.addEventListener('abort', end);
    try {
      signal.throwIfAborted();
      const response = await this.#fetch(call, ending.signal);
      return { response, text: await response.text() };
    } catch (thrown) {
      const reason = isOverdue ? `no answer came within ${Math.ceil(seconds)} seconds` : unanswered(call, thrown);
      throw new Unanswered(reason, undefined, { cause: thrown });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    }
  }

  #fetch({ method, url, headers = {}, body, sees308 = false }: Call, signal: AbortSignal): Promise<Response> {
    const { credentials } = this.options;
    return (this.options.fetch ?? fetch)(url, {
      method,
      headers,
      signal,
      cache: 'no-store',
      redirect: sees308 ? 'follow' : 'manual',
      ...(body === undefined ? {} : { body: body as BodyInit }),
      ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
      ...(credentials ? { credentials } : {}),
    });
  }
}

/** Where a signature or a token has to be fetched, the network may be what fails: `fetch` says so by a `TypeError`. */
async function made(call: MakeCall): Promise<Call> {
  try {
    return await call();
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown;
    throw new Unanswered(reasonOf(thrown), undefined, { cause: thrown });
  }
}

function unanswered({ url }: Call, cause: unknown): string {
  // Node says what was wrong one level deeper.
  const reason = reasonOf(cause instanceof Error && cause.cause !== undefined ? cause.cause : cause);
  const { origin } = new URL(url);
  if (typeof document === 'undefined' || location.origin === origin) return `no answer came from ${origin} (${reason})`;
  return `no answer came from ${origin}, or it does not allow pages of other origins to write there: then its CORS rules have to name this page's origin, the method and the headers`;
}

/** A failure as the server tells it, with its own words where it has some. */
function refused(response: Response, text: string): Error {
  const isElsewhere = response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400);
  if (isElsewhere) return new Error('the server redirects elsewhere; give the address that it redirects to');
  const error = refusal(response, HINTS);
  const words = wordsOf(text);
  if (words === '') return error;
  const message = `${error.message} (${words})`;
  if (error instanceof Passing) return new Passing(message, error.wait);
  // S3 says by 400 too that a body did not arrive in time.
  return words.startsWith('RequestTimeout') ? new Passing(message) : new Refused(message, error.status);
}

/** The code and the message of an error in XML, as S3 and Azure send it, or in JSON, as Google does. */
function wordsOf(text: string): string {
  const code = /<Code>([^<]*)</.exec(text)?.[1];
  const message = /<Message>([^<]*)</.exec(text)?.[1] ?? /"message":\s*"([^"]*)"/.exec(text)?.[1];
  return [code, message?.split('\n')[0]].filter(Boolean).join(': ').slice(0, MOST_WORDS);
}
