// Trying again what may pass.

import { orCancelled } from '../errors/errors.js';
import { NoAnswer, TransientFailure, Trickling } from './http-failures.js';
import type { PendingRequest, Waiting } from './http-types.js';
import { LONGEST_TIMER } from './time-outs.js';

/** The wait after the first failure and the longest one, in milliseconds. It doubles in between. */
const FIRST_WAIT = 250;
const LONGEST_WAIT = 15_000;
/** How often a server is asked that has never answered. */
const MAX_FIRST_ATTEMPTS = 3;
/** How often in a row bytes may come one by one. */
const MAX_TRICKLES = 2;
/** For how long requests are made again, in milliseconds: before one has succeeded, and then. */
const FIRST_PATIENCE = 60_000;
const PATIENCE = 600_000;
/** Fewer bytes than this are nothing. */
export const MIN_PROGRESS = 1 << 10;
/** After so many seconds it is told who is waited for. */
const REPORT_AFTER = 5;
const REPORT_INTERVAL = 1000;

/** Something that is tried, and what has come of it so far. */
interface RetriedWork {
  begin: number;
  attempts: number;
  failure: TransientFailure | undefined;
  /** How often in a row bytes came one by one. */
  trickles: number;
}

export class Retries {
  /** The servers that have answered, whatever they said. */
  readonly #answered = new Set<string | undefined>();
  #hasSucceeded = false;
  readonly #running = new Set<RetriedWork>();
  readonly #awaited = new Set<PendingRequest>();
  /** When something came last, and how many bytes since then, which are too few. */
  #last = performance.now();
  #few = 0;
  #timer: ReturnType<typeof setInterval> | undefined;
  #reported: Waiting | undefined;
  /** How often something was tried again. */
  count = 0;

  constructor(
    /** In milliseconds, where the caller says so. */
    private readonly patience?: number,
    /** Gets `waiting` whenever that changes. */
    private readonly onWaiting?: (waiting: Waiting | undefined) => void,
  ) {}

  /** The server `host` is there: it has answered, whatever it says. */
  markReachable(host?: string): void {
    this.#answered.add(host);
    // What fails without naming one is not given up for that.
    this.#answered.add(undefined);
  }

  /** Something has come of what was asked for: so many bytes, if it is bytes. */
  received(bytes = MIN_PROGRESS): void {
    this.#few += bytes;
    if (this.#few < MIN_PROGRESS) return;
    this.#last = performance.now();
    this.#few = 0;
    if (this.#reported) this.#report();
  }

  /** The answer to `request` is awaited until `forget`. */
  watch(request: PendingRequest): void {
    this.#awaited.add(request);
    this.#startReporting();
  }

  unwatch(request: PendingRequest): void {
    this.#awaited.delete(request);
    this.#report();
  }

  /** For how many seconds nothing has come, where something has failed since, or from `TOLD` on; otherwise 0. */
  get silence(): number {
    const failing = this.#failing;
    const sinceLast = performance.now() - this.#last;
    if (failing.length > 0) {
      const begin = Math.min(...failing.map(({ begin }) => begin));
      return Math.min(sinceLast, performance.now() - begin) / 1000;
    }
    const silence = Math.min(sinceLast, this.#longest?.waited ?? 0) / 1000;
    return silence < REPORT_AFTER ? 0 : silence;
  }

  /** Who is waited for, where nothing has come for a while. */
  get waiting(): Waiting | undefined {
    if (this.silence < REPORT_AFTER) return undefined;
    const [failing] = this.#failing;
    if (!failing) {
      const { host, completing } = this.#longest!;
      return { host, attempt: 0, ...(completing && { completing }) };
    }
    const { failure, attempts } = failing;
    const { host = '', status } = failure!;
    return { host, attempt: attempts, ...(status === undefined ? {} : { status }) };
  }

  /** What a source or target says of its network, besides bytes. */
  get network(): { retries: number; silence: number; waiting?: Waiting } {
    const { count, silence, waiting } = this;
    return { retries: count, silence, ...(waiting && { waiting }) };
  }

  /**
   * What `attempt` resolves to. It is called again after a failure that may pass, until patience is over: then, and after
   * any other failure, its error is thrown. Fails with `cancelled` when `signal` is aborted. `progressed` says whether
   * anything has come since it was last called. `most` bounds patience, in milliseconds.
   */
  async run<T>(
    attempt: () => Promise<T>,
    progressed: () => boolean,
    signal: AbortSignal,
    most = Number.POSITIVE_INFINITY,
  ): Promise<T> {
    const running: RetriedWork = { begin: performance.now(), attempts: 1, failure: undefined, trickles: 0 };
    let since: number | undefined;
    this.#running.add(running);
    try {
      for (; ; running.attempts += 1) {
        try {
          const result = await attempt();
          this.#hasSucceeded = true;
          this.received();
          return result;
        } catch (thrown) {
          signal.throwIfAborted();
          if (!(thrown instanceof TransientFailure)) throw thrown;
          const now = performance.now();
          // A request may take long before it fails: what counts is how long nothing but failures has come.
          if (progressed() || since === undefined) {
            since = now;
            running.attempts = 1;
            running.trickles = 0;
          }
          const wait = Math.min(LONGEST_TIMER, Math.max(backoff(running.attempts), (thrown.retryAfter ?? 0) * 1000));
          const patience = Math.min(most, this.#patienceFor(thrown));
          if (now + wait - this.#patienceStart(since, running, thrown) > patience) throw thrown;
          running.trickles = thrown instanceof Trickling ? running.trickles + 1 : 0;
          if (this.patience === undefined && running.trickles >= MAX_TRICKLES) throw thrown;
          if (this.#isUnreachable(thrown) && running.attempts >= MAX_FIRST_ATTEMPTS) throw thrown;
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

  get #failing(): RetriedWork[] {
    return [...this.#running].filter(({ failure }) => failure !== undefined);
  }

  #patienceFor({ retryAfter = 0 }: TransientFailure): number {
    // A server that says when to come back is asked then.
    const beforeSuccess = Math.max(FIRST_PATIENCE, Math.min(PATIENCE, retryAfter * 1000));
    return this.patience ?? (this.#hasSucceeded ? PATIENCE : beforeSuccess);
  }

  /** From when on patience counts. A server that may not be there is waited for from the beginning. */
  #patienceStart(since: number, { begin }: RetriedWork, thrown: TransientFailure): number {
    return !this.#hasSucceeded && this.patience === undefined && thrown instanceof NoAnswer ? begin : since;
  }

  /** Whether the server that does not answer never has. */
  #isUnreachable(thrown: TransientFailure): boolean {
    return thrown instanceof NoAnswer && !this.#answered.has(thrown.host);
  }

  /** The request that is awaited for longest. */
  get #longest(): PendingRequest | undefined {
    const awaited = [...this.#awaited];
    return awaited.length === 0 ? undefined : awaited.reduce((a, b) => (b.waited > a.waited ? b : a));
  }

  /** Tells of `waiting` from now on. */
  #startReporting(): void {
    if (this.onWaiting) this.#timer ??= setInterval(() => this.#report(), REPORT_INTERVAL);
  }

  #report(): void {
    if (this.#failing.length === 0 && this.#awaited.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    const { waiting } = this;
    const before = this.#reported;
    const isSame = (name: keyof Waiting) => waiting?.[name] === before?.[name];
    if (isSame('host') && isSame('status') && isSame('attempt') && isSame('completing')) return;
    this.#reported = waiting;
    this.onWaiting?.(waiting);
  }
}

/** Jittered, so that those who failed together do not come back together. */
const backoff = (attempts: number): number =>
  Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempts - 1)) * (0.5 + Math.random() / 2);

/** Ends early where a browser finds its network again. */
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
