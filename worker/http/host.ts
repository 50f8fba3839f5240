// How many requests go to one server at once, whatever they are for.

import { orCancelled } from '../errors.js';

/** As many as browsers make by HTTP/1.1. */
const MOST = 6;

/** By their origins; those that were asked once are few. */
const hosts = new Map<string, Host>();

export class Host {
  #underWay = 0;
  /** Called when a request has ended: they would have begun one. */
  readonly #waiting = new Set<() => void>();

  static of({ origin }: URL): Host {
    const host = hosts.get(origin) ?? new Host();
    hosts.set(origin, host);
    return host;
  }

  /** Whether another request may begin. If not, `start` is called when that may have changed. */
  hasRoom(start: () => void): boolean {
    const hasRoom = this.#underWay < MOST;
    if (!hasRoom) this.#waiting.add(start);
    return hasRoom;
  }

  /** Waits until another request may begin, and begins it. */
  async enter(signal: AbortSignal): Promise<void> {
    for (let hasRoom = false; !hasRoom; ) {
      let freed = () => {};
      const waiting = new Promise<void>((resolve) => {
        freed = resolve;
      });
      hasRoom = this.hasRoom(freed);
      if (!hasRoom) await orCancelled(signal, waiting);
    }
    this.begin();
  }

  begin(): void {
    this.#underWay += 1;
  }

  end(): void {
    this.#underWay -= 1;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const start of waiting) start();
  }
}
