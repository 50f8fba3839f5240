// Retries transient failures with backoff, within a patience, and reports servers that are waited for.

import { callListener, ListenerError, orCancelled } from '../errors/errors.js';
import { anyOf } from '../errors/signals.js';
import { NoAnswer, TransientFailure, Trickling } from './http-failures.js';
import { LONGEST_TIMER } from './http-options.js';
import type { PendingRequest, Waiting } from './http-types.js';

/** The wait after the first failure, and the longest one; in milliseconds. Waits double in between. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 15_000;
/** Attempts in a row, with the network up, at a server that has never answered. */
const MAX_FIRST_ATTEMPTS = 3;
/** Attempts in a row that may trickle. */
const MAX_TRICKLES = 2;
/** How long failed requests are retried by default, in milliseconds: before a first success, and after one. */
const FIRST_RETRY_MS = 60_000;
const RETRY_MS = 600_000;
/** Fewer bytes do not count as progress. */
export const MIN_PROGRESS = 1 << 10;
/** Seconds of silence before the server is reported. */
const REPORT_AFTER_SECONDS = 5;
const REPORT_INTERVAL_MS = 1000;

/** The state of one `run`. */
interface RetriedWork {
  begin: number;
  /** The time of the first failure since there was progress. */
  since: number | undefined;
  attempts: number;
  failure: TransientFailure | undefined;
  /** Failures in a row by trickling. */
  trickles: number;
  /** Failures in a row, with the network up, at a server that has never answered. */
  unreached: number;
}

export class Retries {
  /** Hosts that have answered, with any status. */
  readonly #answered = new Set<string | undefined>();
  #hasSucceeded = false;
  readonly #running = new Set<RetriedWork>();
  readonly #awaited = new Set<PendingRequest>();
  /** The time of the last progress, and the bytes since then: fewer than `MIN_PROGRESS`. */
  #last = performance.now();
  #few = 0;
  #timer: ReturnType<typeof setInterval> | undefined;
  #reported: Waiting | undefined;
  /** Aborted with a `ListenerError` if `onWaiting` fails. */
  readonly #listenerFailed = new AbortController();
  /** The number of retries. */
  count = 0;

  constructor(
    /** The caller's patience, in milliseconds. */
    private readonly patience?: number,
    /** Called when `waiting` changes. */
    private readonly onWaiting?: (waiting: Waiting | undefined) => void,
  ) {}

  /** Notes that `host` has answered, with any status. */
  markReachable(host?: string): void {
    this.#answered.add(host);
    // Failures without a host count as failures of a reachable one.
    this.#answered.add(undefined);
  }

  /** Whether a host has answered, with any status. */
  get hasReachedAny(): boolean {
    return this.#answered.size > 0;
  }

  /** Counts progress: `bytes`, or enough by default. */
  received(bytes = MIN_PROGRESS): void {
    this.#few += bytes;
    if (this.#few < MIN_PROGRESS) return;
    this.#last = performance.now();
    this.#few = 0;
    if (this.#reported) this.#report();
  }

  /** Counts `request` as pending until `unwatch`. */
  watch(request: PendingRequest): void {
    this.#awaited.add(request);
    this.#startReporting();
  }

  unwatch(request: PendingRequest): void {
    this.#awaited.delete(request);
    this.#report();
  }

  /** Seconds without progress, if a request is failing, or from `REPORT_AFTER_SECONDS` on; otherwise 0. */
  get silence(): number {
    const failing = this.#failing;
    const sinceLast = performance.now() - this.#last;
    if (failing.length > 0) {
      const begin = Math.min(...failing.map(({ begin }) => begin));
      return Math.min(sinceLast, performance.now() - begin) / 1000;
    }
    const silence = Math.min(sinceLast, this.#longest?.waited ?? 0) / 1000;
    return silence < REPORT_AFTER_SECONDS ? 0 : silence;
  }

  /** The server that is waited for, after `REPORT_AFTER_SECONDS` without progress. */
  get waiting(): Waiting | undefined {
    if (this.silence < REPORT_AFTER_SECONDS) return undefined;
    const [failing] = this.#failing;
    if (!failing) {
      const { host, completing } = this.#longest!;
      return { host, attempt: 0, ...(completing && { completing }), ...offline() };
    }
    const { failure, attempts } = failing;
    const { host = '', status } = failure!;
    return { host, attempt: attempts, ...(status === undefined ? offline() : { status }) };
  }

  /** For `network` of sources and targets. */
  get network(): { retries: number; silence: number; waiting?: Waiting } {
    const { count, silence, waiting } = this;
    return { retries: count, silence, ...(waiting && { waiting }) };
  }

  /**
   * Resolves to the result of `attempt`, which is called again after each transient failure until patience ends. Fails with
   * its last error, and with `cancelled` when `signal` is aborted. `progressed` returns whether there was progress since its
   * last call. `most` bounds patience, in milliseconds. If `onWaiting` fails, the signal of `attempt` is aborted and `run` fails
   * with `ListenerError`.
   */
  async run<T>(
    attempt: (signal: AbortSignal) => Promise<T>,
    progressed: () => boolean,
    signal: AbortSignal,
    most = Number.POSITIVE_INFINITY,
  ): Promise<T> {
    const either = this.onWaiting ? anyOf([signal, this.#listenerFailed.signal]) : signal;
    try {
      return await this.#run(attempt, progressed, either, most);
    } finally {
      this.throwListenerError();
    }
  }

  /** Throws the error of `onWaiting`, if it has failed. */
  throwListenerError(): void {
    this.#listenerFailed.signal.throwIfAborted();
  }

  async #run<T>(
    attempt: (signal: AbortSignal) => Promise<T>,
    progressed: () => boolean,
    signal: AbortSignal,
    most: number,
  ): Promise<T> {
    const begin = performance.now();
    const running: RetriedWork = {
      begin,
      since: undefined,
      attempts: 1,
      failure: undefined,
      trickles: 0,
      unreached: 0,
    };
    this.#running.add(running);
    try {
      for (; ; running.attempts += 1) {
        try {
          const result = await attempt(signal);
          this.#hasSucceeded = true;
          this.received();
          return result;
        } catch (thrown) {
          signal.throwIfAborted();
          if (!(thrown instanceof TransientFailure)) throw thrown;
          const wait = this.#waitAfter(thrown, running, progressed(), most);
          if (wait === undefined) throw thrown;
          running.failure = thrown;
          this.#startReporting();
          await pause(wait, signal);
          this.count += 1;
        }
      }
    } finally {
      this.#running.delete(running);
      this.#report();
    }
  }

  /** Returns how long to wait before the next attempt, in milliseconds; undefined if there must be none. Counts the failure in `running`. */
  #waitAfter(thrown: TransientFailure, running: RetriedWork, progressed: boolean, most: number): number | undefined {
    const now = performance.now();
    // Patience counts from the first failure without progress, not from the start of a long request.
    if (progressed || running.since === undefined) Object.assign(running, { since: now, attempts: 1, trickles: 0 });
    const wait = Math.min(LONGEST_TIMER, Math.max(backoff(running.attempts), (thrown.retryAfter ?? 0) * 1000));
    const patience = Math.min(most, this.#patienceFor(thrown));
    if (now + wait - this.#patienceStart(running, thrown) > patience) return undefined;
    running.trickles = thrown instanceof Trickling ? running.trickles + 1 : 0;
    if (this.patience === undefined && running.trickles >= MAX_TRICKLES) return undefined;
    running.unreached = this.#isUnreachable(thrown) && !isOffline() ? running.unreached + 1 : 0;
    return running.unreached < MAX_FIRST_ATTEMPTS ? wait : undefined;
  }

  get #failing(): RetriedWork[] {
    return [...this.#running].filter(({ failure }) => failure !== undefined);
  }

  #patienceFor({ retryAfter = 0 }: TransientFailure): number {
    // Long enough to obey Retry-After.
    const beforeSuccess = Math.max(FIRST_RETRY_MS, Math.min(RETRY_MS, retryAfter * 1000));
    return this.patience ?? (this.#hasSucceeded ? RETRY_MS : beforeSuccess);
  }

  /** When patience begins to count: for a server that may not exist, with the first attempt. */
  #patienceStart({ begin, since = begin }: RetriedWork, thrown: TransientFailure): number {
    return !this.#hasSucceeded && this.patience === undefined && thrown instanceof NoAnswer ? begin : since;
  }

  /** Whether the host has never answered. */
  #isUnreachable(thrown: TransientFailure): boolean {
    return thrown instanceof NoAnswer && !this.#answered.has(thrown.host);
  }

  /** The request that has been pending longest. */
  get #longest(): PendingRequest | undefined {
    const awaited = [...this.#awaited];
    return awaited.length === 0 ? undefined : awaited.reduce((a, b) => (b.waited > a.waited ? b : a));
  }

  /** Starts a timer for reports, since silence has no event. */
  #startReporting(): void {
    if (this.onWaiting) this.#timer ??= setInterval(() => this.#report(), REPORT_INTERVAL_MS);
  }

  #report(): void {
    if (this.#failing.length === 0 && this.#awaited.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    const { waiting } = this;
    const before = this.#reported;
    const isSame = (name: keyof Waiting) => waiting?.[name] === before?.[name];
    if ((['host', 'status', 'attempt', 'completing', 'offline'] as const).every(isSame)) return;
    this.#reported = waiting;
    callListener(
      () => this.onWaiting?.(waiting),
      (thrown) => this.#listenerFailed.abort(new ListenerError('a wait', thrown)),
    );
  }
}

/** Jittered, so that requests that failed together are not repeated together. */
const backoff = (attempts: number): number =>
  Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempts - 1)) * (0.5 + Math.random() / 2);

/** Whether the browser knows that the network is down. */
const isOffline = (): boolean => globalThis.navigator?.onLine === false;

const offline = (): Pick<Waiting, 'offline'> => (isOffline() ? { offline: true } : {});

/** Ends early if the browser comes back online. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  let end = () => {};
  const over = new Promise<void>((done) => {
    end = done;
  });
  const timer = setTimeout(end, milliseconds);
  globalThis.addEventListener?.('online', end);
  try {
    await orCancelled(signal, over);
  } finally {
    clearTimeout(timer);
    globalThis.removeEventListener?.('online', end);
  }
}
