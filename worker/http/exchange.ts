// A response and its body, with a limit on stalls.

import { cancelled } from '../errors/errors.js';
import { nextTask } from '../errors/signals.js';
import { Overloaded, TransientFailure, Trickling } from './http-failures.js';
import { MIN_PROGRESS } from './retries.js';

/** Fewer than `MIN_PROGRESS` bytes in this time, in milliseconds, are a stall. */
const TRICKLE_MS = 60_000;

/** A request with a response whose body is being read. */
export interface HttpExchange {
  response: Response;
  /** Names the server in messages. */
  server: string;
  host: string;
  /** The URL that sent the response, after redirects. */
  url: URL;
  /** Secrets of the request, which the server may repeat. */
  secrets: readonly string[];
  /** Resolves to the next bytes, `undefined` at the end. Fails with `TransientFailure` if the connection breaks or stalls. */
  next(): Promise<Uint8Array | undefined>;
  /** Releases the connection. */
  end(): void;
}

/** Aborts a request that stalls for `timeout` milliseconds. Runs from its construction. */
export class StallTimer {
  hasExpired = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Milliseconds spent waiting, and bytes received, since the last time that enough bytes had come. */
  #waited = 0;
  #few = 0;
  /** Undefined while the timer is stopped. */
  #begin: number | undefined;

  constructor(
    private readonly timeout: number,
    private readonly ending: AbortController,
    /** Fewer than `MIN_PROGRESS` bytes in this time, in milliseconds, are a stall. */
    private readonly trickleTime = TRICKLE_MS,
  ) {
    this.start();
  }

  start(): void {
    this.#begin = performance.now();
    this.#timer ??= this.#wake(this.timeout);
  }

  stop(): void {
    this.#waited = this.waited;
    this.#begin = undefined;
  }

  /** Stops for good. */
  end(): void {
    this.stop();
    clearTimeout(this.#timer);
  }

  /** Checks in `wait` milliseconds whether the request has stalled: one timer for many reads takes less time than one for each. */
  #wake(wait: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.#timer = undefined;
      if (this.#begin === undefined) return;
      const left = this.#begin + this.timeout - performance.now();
      if (left > 0) {
        this.#timer = this.#wake(left);
      } else {
        this.hasExpired = true;
        this.ending.abort();
      }
    }, wait);
  }

  responseBegan(): void {
    this.stop();
    this.#waited = 0;
  }

  /** How long too few bytes have come, in milliseconds. */
  get waited(): number {
    return this.#waited + (this.#begin === undefined ? 0 : performance.now() - this.#begin);
  }

  /**
   * Stops the clock, and adds `bytes` to those received since enough had come. Returns whether they are enough now:
   * `MIN_PROGRESS`. Fails with `Trickling` if they take too long.
   */
  received(bytes: number): boolean {
    this.stop();
    this.#few += bytes;
    const areEnough = this.#few >= MIN_PROGRESS;
    if (areEnough) [this.#waited, this.#few] = [0, 0];
    if (this.#waited < Math.max(this.trickleTime, this.timeout)) return areEnough;
    throw new Trickling(`only ${this.#few} bytes came in ${Math.round(this.#waited / 1000)} seconds`);
  }

  get message(): string {
    return `no byte came for ${this.timeout / 1000} seconds`;
  }
}

/** Returns a reader of the body, which skips empty chunks. The timer runs only during reads. Passes to `judge` whether the bytes come too slowly. */
export function bodyOf(
  response: Response,
  clock: StallTimer,
  signal: AbortSignal,
  judge: (trickles: boolean) => void,
): () => Promise<Uint8Array | undefined> {
  const reader = response.body?.getReader();
  // In Node, aborting a request does not always end a read. A broken body cannot be cancelled: reading it fails.
  const stop = () => void reader?.cancel().catch(() => {});
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  return async () => {
    clock.start();
    try {
      for (;;) {
        const result = await reader?.read();
        if (signal.aborted) throw cancelled();
        if (result?.value?.length === 0) {
          await nextTask();
          continue;
        }
        if (result?.value && clock.received(result.value.length)) judge(false);
        return result?.value;
      }
    } catch (cause) {
      if (cause instanceof Trickling) judge(true);
      if (cause instanceof Trickling) throw cause;
      if (clock.hasExpired) throw new Overloaded(clock.message, undefined, { cause });
      throw new TransientFailure('the connection broke', undefined, { cause });
    } finally {
      clock.stop();
    }
  };
}
