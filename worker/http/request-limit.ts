// The limit on requests to one server at once, and the requests that are under way and waiting.

import { DecantError, orCancelled } from '../errors/errors.js';

/** The limit of browsers for HTTP/1.1. */
const DEFAULT_LIMIT = 6;

/**
 * Limits the requests to one server at once, over all sources that share the object: `open(url, { limit })`,
 * `httpSource(url, { limit })`.
 */
export class RequestLimit {
  /** Fails with `usage` unless `max` is a whole number, 1 or more. */
  constructor(
    /** The limit for each server; 6 by default. */
    readonly max: number = DEFAULT_LIMIT,
  ) {
    if (!Number.isSafeInteger(max) || max < 1) {
      throw new DecantError('usage', 'A RequestLimit takes a whole number, 1 or more');
    }
  }
}

/** Fails with `usage` unless `limit` is a `RequestLimit` or undefined. */
export function checkLimit(limit: unknown): void {
  if (limit !== undefined && !(limit instanceof RequestLimit))
    throw new DecantError('usage', "'limit' must be a RequestLimit");
}

/** By limit and origin. Origins are few, so none is removed. */
const hosts = new WeakMap<RequestLimit, Map<string, RequestSlots>>();

export class RequestSlots {
  #underWay = 0;
  /** Callbacks in the order of their arrival; each is called when a slot is free. */
  readonly #waiting = new Set<() => void>();

  constructor(readonly max = DEFAULT_LIMIT) {}

  /** Returns the slots that sources with `limit` share for the origin of `url`. */
  static forOrigin({ origin }: URL, limit: RequestLimit): RequestSlots {
    const ofLimit = hosts.get(limit) ?? new Map<string, RequestSlots>();
    hosts.set(limit, ofLimit);
    const host = ofLimit.get(origin) ?? new RequestSlots(limit.max);
    ofLimit.set(origin, host);
    return host;
  }

  /** Whether a request may start now. If not, `start` is called once when it may. */
  isFree(start: () => void): boolean {
    const hasRoom = this.#underWay < this.max;
    if (!hasRoom) this.#waiting.add(start);
    return hasRoom;
  }

  /** Waits for a slot and takes it. Fails with `cancelled` when `signal` is aborted. */
  async acquire(signal: AbortSignal): Promise<void> {
    let hasBegun = false;
    let take = () => {};
    const started = new Promise<void>((resolve) => {
      // Synchronously: otherwise another request could take the slot.
      take = () => {
        hasBegun = true;
        this.take();
        resolve();
      };
    });
    if (this.isFree(take)) take();
    try {
      await orCancelled(signal, started);
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
      if (this.#underWay >= this.max) return;
      this.#waiting.delete(start);
      start();
    }
  }
}
