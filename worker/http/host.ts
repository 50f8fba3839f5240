// How many requests go to one server at once, whatever they are for.

import { orCancelled } from '../errors.js';

/** As many as browsers make by HTTP/1.1. */
const MOST = 6;

/** By their origins; those that were asked once are few. */
const hosts = new Map<string, Host>();

export class Host {
  #underWay = 0;
  /** Who would begin a request, in the order in which they came: they are called when one may. */
  readonly #waiting = new Set<() => void>();

  static of({ origin }: URL): Host {
    const host = hosts.get(origin) ?? new Host();
    hosts.set(origin, host);
    return host;
  }

  /** Whether another request may begin. If not, `start` is called once when it may. */
  hasRoom(start: () => void): boolean {
    const hasRoom = this.#underWay < MOST;
    if (!hasRoom) this.#waiting.add(start);
    return hasRoom;
  }

  /** Waits until another request may begin, and begins it. Fails with `cancelled` when `signal` is aborted. */
  async enter(signal: AbortSignal): Promise<void> {
    let hasBegun = false;
    let take = () => {};
    const begun = new Promise<void>((resolve) => {
      // At once: otherwise another one takes the place.
      take = () => {
        hasBegun = true;
        this.begin();
        resolve();
      };
    });
    if (this.hasRoom(take)) take();
    try {
      await orCancelled(signal, begun);
    } catch (thrown) {
      this.#waiting.delete(take);
      if (hasBegun) this.end();
      throw thrown;
    }
  }

  begin(): void {
    this.#underWay += 1;
  }

  end(): void {
    this.#underWay -= 1;
    // Whoever wants more than one waits anew, behind all others.
    for (const start of this.#waiting) {
      if (this.#underWay >= MOST) return;
      this.#waiting.delete(start);
      start();
    }
  }
}
