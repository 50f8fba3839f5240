// How many requests go to one server at once, for those who share a limit.

import { DecantError, orCancelled } from '../errors/errors.js';

/** As many as browsers make by HTTP/1.1. */
const DEFAULT_LIMIT = 6;

/** The hosts of each limit by their origins; those that were asked once are few. */
const hosts = new WeakMap<RequestLimit, Map<string, RequestSlots>>();

/**
 * How many requests go to one server at once, for all sources that are given this object: `open(url, { limit })`,
 * `httpSource(url, { limit })`.
 */
export class RequestLimit {
  /** Fails with `usage` unless `most`, for each server, is a whole number from 1. */
  constructor(
    /** How many for each server. */
    readonly most: number = DEFAULT_LIMIT,
  ) {
    if (!Number.isSafeInteger(most) || most < 1) {
      throw new DecantError('usage', 'A RequestLimit takes a whole number, 1 or more');
    }
    hosts.set(this, new Map());
  }
}

export class RequestSlots {
  #underWay = 0;
  /** Who would begin a request, in the order in which they came: they are called when one may. */
  readonly #waiting = new Set<() => void>();

  constructor(readonly most = DEFAULT_LIMIT) {}

  /** The host of `url` among those who share `limit`. */
  static forOrigin({ origin }: URL, limit: RequestLimit): RequestSlots {
    const ofLimit = hosts.get(limit)!;
    const host = ofLimit.get(origin) ?? new RequestSlots(limit.most);
    ofLimit.set(origin, host);
    return host;
  }

  /** Whether another request may begin. If not, `start` is called once when it may. */
  isFree(start: () => void): boolean {
    const hasRoom = this.#underWay < this.most;
    if (!hasRoom) this.#waiting.add(start);
    return hasRoom;
  }

  /** Waits until another request may begin, and begins it. Fails with `cancelled` when `signal` is aborted. */
  async acquire(signal: AbortSignal): Promise<void> {
    let hasBegun = false;
    let take = () => {};
    const begun = new Promise<void>((resolve) => {
      // At once: otherwise another one takes the place.
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
    // Whoever wants more than one waits anew, behind all others.
    for (const start of this.#waiting) {
      if (this.#underWay >= this.most) return;
      this.#waiting.delete(start);
      start();
    }
  }
}
