// Trying again what may pass.

import { orCancelled } from '../errors.js';
import { Passing, Unanswered } from './failures.js';
import { LONGEST_TIMER } from './seconds.js';

/** The wait after the first failure and the longest one, in milliseconds. It doubles in between. */
const FIRST = 250;
const LONGEST = 15_000;
/** How often a server is asked that has never answered. */
const FIRST_ATTEMPTS = 3;

export class Retries {
  /** Whether a server has ever answered. */
  #answered = false;
  /** What failed last and is tried again. */
  readonly #failing = new Set<() => Promise<unknown>>();
  /** When something came last. */
  #last = performance.now();
  /** How often something was tried again. */
  count = 0;

  /** `patience` is in milliseconds. */
  constructor(private readonly patience: number) {}

  /** Something has come: the server is there. */
  came(): void {
    this.#answered = true;
    this.#last = performance.now();
  }

  /** For how many seconds nothing has come, where something has failed since; otherwise 0. */
  get silence(): number {
    return this.#failing.size > 0 ? (performance.now() - this.#last) / 1000 : 0;
  }

  /**
   * What `attempt` resolves to. It is called again after a failure that may pass, until patience is over: then, and after
   * any other failure, its error is thrown. Fails with `cancelled` when `signal` is aborted. `progressed` says whether
   * anything has come since it was last called.
   */
  async run<T>(attempt: () => Promise<T>, progressed: () => boolean, signal: AbortSignal): Promise<T> {
    let since: number | undefined;
    try {
      for (let attempts = 1; ; attempts += 1) {
        try {
          return await attempt();
        } catch (thrown) {
          signal.throwIfAborted();
          if (!(thrown instanceof Passing)) throw thrown;
          const now = performance.now();
          // A request may take long before it fails: what counts is how long nothing but failures has come.
          if (progressed() || since === undefined) [since, attempts] = [now, 1];
          const wait = Math.min(LONGEST_TIMER, Math.max(backoff(attempts), (thrown.wait ?? 0) * 1000));
          const isOver = now + wait - since > this.patience;
          const isNobody = thrown instanceof Unanswered && !this.#answered && attempts >= FIRST_ATTEMPTS;
          if (isOver || isNobody) throw thrown;
          this.#failing.add(attempt);
          await pause(wait, signal);
          this.count += 1;
        }
      }
    } finally {
      this.#failing.delete(attempt);
    }
  }
}

/** Jittered, so that those who failed together do not come back together. */
const backoff = (attempts: number): number =>
  Math.min(LONGEST, FIRST * 2 ** (attempts - 1)) * (0.5 + Math.random() / 2);

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
