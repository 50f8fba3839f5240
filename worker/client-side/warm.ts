// Workers that outlive what they were started for.

import { unexpectedEnd } from '../messages/rpc.js';

/** How long workers stay after their last successful use, in milliseconds: long enough for the next file. */
const WARM = 10_000;

/** All that have not ended. */
const running = new Set<WarmWorkers>();

/** Ends all workers, whoever uses them. Resolves when nothing of them runs any more; never rejects. */
export async function endAllWorkers(): Promise<void> {
  await Promise.all(
    [...running].map((workers) => {
      workers.end('The workers were ended by dispose()');
      return workers.ended;
    }),
  );
}

/**
 * Workers with a count of their users. They stay for a short time after the last one, and end at once where they have
 * failed or were given up.
 */
export abstract class WarmWorkers {
  #users = 0;
  /** Users that were cancelled and have not obeyed in time. */
  #overdue = 0;
  #givenUp = false;
  #end: { sentence: string; stopped: Promise<void> } | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    running.add(this);
  }

  /** Resolves when they can work; rejects where they could not be started. */
  abstract readonly ready: Promise<void>;

  /** Stops them; resolves when nothing of them runs any more. Work under way fails with `internal` and `sentence`. */
  protected abstract stop(sentence: string): Promise<void>;

  /** Node: whether they keep the process alive. */
  protected abstract keepAlive(alive: boolean): void;

  /** Whether new work may be given to them. */
  get usable(): boolean {
    return !this.#givenUp;
  }

  get users(): number {
    return this.#users;
  }

  use(): void {
    this.#users += 1;
    clearTimeout(this.#idle);
    this.keepAlive(true);
  }

  /** Ends one use, which `overdue` was called for or not. The last one ends them too, unless it was `healthy`. */
  release(healthy: boolean, wasOverdue = false): void {
    this.#users -= 1;
    if (wasOverdue) this.#overdue -= 1;
    if (this.#users > 0) {
      this.#endIfStuck();
    } else if (!healthy || this.#givenUp) {
      this.end();
    } else {
      this.keepAlive(false);
      this.#idle = setTimeout(() => this.end(), WARM);
      // Node: idle workers do not keep the process.
      if (typeof this.#idle === 'object') this.#idle.unref();
    }
  }

  /** Nobody new uses them. */
  giveUp(): void {
    this.#givenUp = true;
  }

  /** One user was cancelled, and waits in vain. They end when only such users are left. */
  overdue(): void {
    this.#overdue += 1;
    this.giveUp();
    this.#endIfStuck();
  }

  /** Ends them, whoever uses them. */
  end(sentence = unexpectedEnd('it was stopped')): void {
    clearTimeout(this.#idle);
    running.delete(this);
    this.giveUp();
    this.#end ??= { sentence, stopped: this.stop(sentence) };
  }

  /** Why they were ended, if they were. */
  get reasonOfEnd(): string | undefined {
    return this.#end?.sentence;
  }

  /** Resolves when nothing runs any more, if they were ended. */
  get ended(): Promise<void> | undefined {
    return this.#end?.stopped;
  }

  #endIfStuck(): void {
    if (this.#overdue > 0 && this.#overdue === this.#users) this.end();
  }
}
