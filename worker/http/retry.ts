// Trying again what may pass.

import { orCancelled } from '../errors.js';
import { Passing, Unanswered } from './failures.js';

/** The wait after the first failure and the longest one, in milliseconds. It doubles in between. */
const FIRST = 250;
const LONGEST = 15_000;
/** How often a server is asked that has never answered. */
const FIRST_ATTEMPTS = 3;

export class Retries {
  /** Whether a server has ever answered. */
  #answered = false;
  /** How often something was tried again. */
  count = 0;

  /** `patience` is in milliseconds. */
  constructor(private readonly patience: number) {}

  /** Something was answered: the server is there. */
  answered(): void {
    this.#answered = true;
  }

  /**
   * What `attempt` resolves to. It is called again after a failure that may pass, until patience is over: then, and after
   * any other failure, its error is thrown. Fails with `cancelled` when `signal` is aborted. `progressed` says whether
   * anything has come since it was last called.
   */
  async run<T>(attempt: () => Promise<T>, progressed: () => boolean, signal: AbortSignal): Promise<T> {
    let since = performance.now();
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await attempt();
      } catch (thrown) {
        signal.throwIfAborted();
        if (!(thrown instanceof Passing)) throw thrown;
        if (progressed()) [since, attempts] = [performance.now(), 1];
        const wait = thrown.wait === undefined ? backoff(attempts) : thrown.wait * 1000;
        const isOver = performance.now() + wait - since > this.patience;
        const isNobody = thrown instanceof Unanswered && !this.#answered && attempts >= FIRST_ATTEMPTS;
        if (isOver || isNobody) throw thrown;
        await pause(wait, signal);
        this.count += 1;
      }
    }
  }
}

/** Jittered, so that those who failed together do not come back together. */
const backoff = (attempts: number): number =>
  Math.min(LONGEST, FIRST * 2 ** (attempts - 1)) * (0.5 + Math.random() / 2);

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await orCancelled(signal, new Promise((done) => (timer = setTimeout(done, milliseconds))));
  } finally {
    clearTimeout(timer);
  }
}
