// At most so many at once; the others wait in order.

import { orCancelled } from '../errors.js';

export class Slots {
  readonly #waiting: (() => void)[] = [];

  constructor(private free: number) {}

  /** Waits for a place; resolves to what gives it back. Fails with `cancelled` when `signal` is aborted. */
  async take(signal: AbortSignal): Promise<() => void> {
    if (this.free > 0) this.free -= 1;
    else await this.#turn(signal);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#give();
    };
  }

  async #turn(signal: AbortSignal): Promise<void> {
    let called = () => {};
    const turn = new Promise<void>((resolve) => {
      called = resolve;
    });
    this.#waiting.push(called);
    try {
      await orCancelled(signal, turn);
    } catch (thrown) {
      const at = this.#waiting.indexOf(called);
      if (at >= 0) this.#waiting.splice(at, 1);
      // Its turn had come at the same moment.
      else this.#give();
      throw thrown;
    }
  }

  #give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.free += 1;
  }
}
