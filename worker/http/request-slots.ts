// The requests to one server that are under way and waiting.

import { orCancelled } from '../errors/errors.js';
import { DEFAULT_LIMIT, type RequestLimit } from './request-limit.js';

/** By limit and origin. Origins are few, so none is removed. */
const hosts = new WeakMap<RequestLimit, Map<string, RequestSlots>>();

export class RequestSlots {
  #underWay = 0;
  /** Callbacks in the order of their arrival; each is called when a slot is free. */
  readonly #waiting = new Set<() => void>();

  constructor(readonly most = DEFAULT_LIMIT) {}

  /** Returns the slots that sources with `limit` share for the origin of `url`. */
  static forOrigin({ origin }: URL, limit: RequestLimit): RequestSlots {
    const ofLimit = hosts.get(limit) ?? new Map<string, RequestSlots>();
    hosts.set(limit, ofLimit);
    const host = ofLimit.get(origin) ?? new RequestSlots(limit.most);
    ofLimit.set(origin, host);
    return host;
  }

  /** Whether a request may start now. If not, `start` is called once when it may. */
  isFree(start: () => void): boolean {
    const hasRoom = this.#underWay < this.most;
    if (!hasRoom) this.#waiting.add(start);
    return hasRoom;
  }

  /** Waits for a slot and takes it. Fails with `cancelled` when `signal` is aborted. */
  async acquire(signal: AbortSignal): Promise<void> {
    let hasBegun = false;
    let take = () => {};
    const begun = new Promise<void>((resolve) => {
      // Synchronously: otherwise another request could take the slot.
      take = () => {
        hasBegun = true;
        this.take();
        resolve();
      };
    });
    if (this.isFree(take)) take();
    try {
      await orCancelled(signal, begun);
    } catch (thrown) {
      this.#waiting.delete(take);
      if (hasBegun) this.release();
      throw thrown;
    }
  }

  take(): void {
    this.#underWay += 1;
  }

  release(): void {
    this.#underWay -= 1;
    // A caller that wants several slots queues again, after all others.
    for (const start of this.#waiting) {
      if (this.#underWay >= this.most) return;
      this.#waiting.delete(start);
      start();
    }
  }
}
