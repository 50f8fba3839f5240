// The answer to a request, and its bytes as they come.

import { orCancelled } from '../errors/errors.js';
import { Overloaded, TransientFailure, Trickling } from './http-failures.js';
import { contentCoding } from './range-response.js';
import { MIN_PROGRESS } from './retries.js';

/** The first window, in milliseconds: see `Clock`. */
const FIRST_WINDOW = 60_000;

/** A request under way. */
export interface HttpExchange {
  response: Response;
  /** Who has answered, for messages, and its host. */
  server: string;
  host: string;
  /** The next bytes of the body; `undefined` at its end. Fails with `Passing` where the connection breaks or stalls. */
  next(): Promise<Uint8Array | undefined>;
  /** Ends it, whatever is still to come. */
  end(): void;
}

/** Ends what has stalled for `timeout` milliseconds. It runs from the beginning. */
export class StallTimer {
  hasExpired = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** For how long bytes were waited for while it ran, and how many came, since they were enough. */
  #waited = 0;
  #few = 0;
  /** Missing while it stands. */
  #begin: number | undefined;

  constructor(
    private readonly timeout: number,
    private readonly ending: AbortController,
    /** Fewer than `LEAST` bytes in so long, in milliseconds, are silence. */
    private readonly window = FIRST_WINDOW,
  ) {
    this.start();
  }

  start(): void {
    clearTimeout(this.#timer);
    this.#begin = performance.now();
    this.#timer = setTimeout(() => {
      this.hasExpired = true;
      this.ending.abort();
    }, this.timeout);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#waited = this.waited;
    this.#begin = undefined;
  }

  /** An answer has begun. */
  responseBegan(): void {
    this.stop();
    this.#waited = 0;
  }

  /** For how long too few bytes have come, in milliseconds. */
  get waited(): number {
    return this.#waited + (this.#begin === undefined ? 0 : performance.now() - this.#begin);
  }

  /** So many bytes have come since `start`. Returns whether they are enough by now. Fails with `Trickling` where they come one by one. */
  received(bytes: number): boolean {
    this.stop();
    this.#few += bytes;
    const areEnough = this.#few >= MIN_PROGRESS;
    if (areEnough) [this.#waited, this.#few] = [0, 0];
    if (this.#waited < Math.max(this.window, this.timeout)) return areEnough;
    throw new Trickling(`only ${this.#few} bytes came in ${Math.round(this.#waited / 1000)} seconds`);
  }

  get message(): string {
    return `no byte came for ${this.timeout / 1000} seconds`;
  }
}

/** Reads the body of `response`; `clock` runs only while somebody waits for bytes. `judge` is told whether they trickle. */
export function bodyOf(
  response: Response,
  clock: StallTimer,
  signal: AbortSignal,
  judge: (trickles: boolean) => void,
): () => Promise<Uint8Array | undefined> {
  const reader = response.body?.getReader();
  return async () => {
    clock.start();
    try {
      // In Node a read that has begun does not always end with its request.
      const result = reader && (await orCancelled(signal, reader.read()));
      if (result?.value && clock.received(result.value.length)) judge(false);
      return result?.value;
    } catch (cause) {
      if (cause instanceof Trickling) judge(true);
      if (cause instanceof Trickling) throw cause;
      if (clock.hasExpired) throw new Overloaded(clock.message, undefined, { cause });
      if (isDecodingError(cause))
        throw new Error(`the server says that it sends ${contentCoding(response)}, and it does not`);
      throw new TransientFailure('the connection broke', undefined, { cause });
    } finally {
      clock.stop();
    }
  };
}

/** The input of a decoder ended early. */
const TRUNCATED_INPUT = 'Z_BUF_ERROR';

/** Whether the decoder of Node's `fetch` has failed, by anything but the end of its input. A browser tells nothing of it. */
function isDecodingError(thrown: unknown): boolean {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const code: unknown = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && /^(Z_|ERR__|ZSTD_)/.test(code) && code !== TRUNCATED_INPUT;
}
