// Requests for wanted ranges: joins neighbours, and bounds the requests at once.

import type { Pace } from './pace.js';
import { type ByteRange, GapCache, type QueuedRange, RangeSet, WantedRange } from './ranges.js';
import type { RequestSlots } from './request-limit.js';

/** The largest request, in bytes. */
const MAX_REQUEST = 4 << 20;
/** Gaps up to this size are fetched again rather than split a request; in bytes. */
const MAX_REFETCH = 4 << 10;

/** A request for a range, and the wanted ranges in it. */
interface RangeRequest extends ByteRange {
  /** Sorted by start; they may overlap. */
  ranges: QueuedRange[];
  ending: AbortController;
}

/**
 * Fetches `range`, with retries, and passes its bytes to `take`, in order, each once. Fails if retries are useless, and with
 * any error once `signal` is aborted.
 */
export type FetchRange = (range: ByteRange, take: (bytes: Uint8Array) => void, signal: AbortSignal) => Promise<void>;

export class RangeQueue {
  /** Parts without a request, sorted by start. */
  #waiting: QueuedRange[] = [];
  readonly #active = new Set<RangeRequest>();
  #order = 0;
  /** Ranges that were fetched or requested. */
  readonly #fetched = new RangeSet();
  readonly #between = new GapCache();
  readonly #restart = () => this.start();

  constructor(
    private readonly fetchRange: FetchRange,
    private readonly pace: Pace,
    private readonly host: RequestSlots,
  ) {}

  markFetched(range: ByteRange): void {
    this.#fetched.add(range);
  }

  /** Keeps `bytes`, at `start` in the file, in case they are wanted next. */
  keep(start: number, bytes: Uint8Array): void {
    this.#between.add(start, bytes, []);
  }

  /** Queues `range` after earlier ones. It is fetched when a request is worth it, or when it is awaited. */
  expect({ start, end }: ByteRange): WantedRange {
    this.#order += 1;
    return this.#add(start, end, this.#order);
  }

  /** Fetches `range` before all queued ones. */
  fetch({ start, end }: ByteRange): WantedRange {
    const wanted = this.#add(start, end, 0);
    wanted.isAwaited = true;
    this.start();
    return wanted;
  }

  /** Drops `wanted`, and aborts requests that nothing else needs. */
  drop(wanted: WantedRange): void {
    wanted.drop();
    this.#sweep();
    this.start();
  }

  /** Starts requests that are due, within the limits. */
  start(): void {
    while (this.#active.size < this.pace.limit && this.#waiting.length > 0) {
      if (!this.host.isFree(this.#restart)) return;
      const request = this.#next();
      if (!request) return;
      this.#active.add(request);
      this.host.take();
      this.#run(request);
    }
  }

  #add(start: number, end: number, order: number): WantedRange {
    const wanted = new WantedRange(start, end - start);
    for (const range of this.#between.take({ start, end }, (offset, bytes) => wanted.add(offset, bytes))) {
      const before = this.#waiting.findLastIndex((queued) => queued.start <= range.start);
      this.#waiting.splice(before + 1, 0, { wanted, ...range, order });
    }
    return wanted;
  }

  /** Removes dropped ranges, and aborts requests without a wanted rest. */
  #sweep(): void {
    this.#waiting = this.#waiting.filter(({ wanted }) => !wanted.isDropped);
    for (const { ranges, ending } of this.#active) {
      if (ranges.every(({ wanted }) => wanted.isDropped || wanted.isComplete)) ending.abort();
    }
  }

  /** Takes the next request, if one is due: one that cannot grow, or one with an awaited range. */
  #next(): RangeRequest | undefined {
    const range = this.#extend(this.#first(() => true));
    if (range.isWhole) return this.#take(range);
    const awaited = this.#first(({ wanted }) => wanted.isAwaited);
    return awaited < 0 ? undefined : this.#take(this.#extend(awaited));
  }

  /** Finds the earliest waiting range that `counts` accepts. Returns its index, or -1. */
  #first(counts: (queued: QueuedRange) => boolean): number {
    let first = -1;
    for (const [at, queued] of this.#waiting.entries()) {
      const isEarlier = first < 0 || queued.order < this.#waiting[first]!.order;
      if (isEarlier && counts(queued)) first = at;
    }
    return first;
  }

  /** Makes the request for a range, and removes the wanted ranges in it from the queue. */
  #take({ start, end }: ByteRange): RangeRequest {
    const taken = new Set(this.#waiting.filter((queued) => queued.start < end && queued.end > start));
    const cut = (queued: QueuedRange) => ({
      ...queued,
      start: Math.max(queued.start, start),
      end: Math.min(queued.end, end),
    });
    this.#waiting = this.#waiting.flatMap((queued) => (taken.has(queued) ? outside(queued, start, end) : [queued]));
    this.#fetched.add({ start, end });
    return { start, end, ranges: [...taken].map(cut), ending: new AbortController() };
  }

  /**
   * Returns a range for the waiting range at index `first` and its neighbours, first those after it. It `isWhole` if waiting
   * for more ranges is useless: it has the maximum size, or the next range is too far away or would make it too large.
   */
  #extend(first: number): ByteRange & { isWhole: boolean } {
    const { gap } = this.pace;
    let { start, end } = this.#waiting[first]!;
    /** Bytes of gaps: never more than wanted bytes. */
    let gaps = 0;
    let isWhole = false;
    const mayJoin = (from: number, to: number) => {
      const between = Math.max(0, to - from);
      // Larger gaps are fetched at most once.
      const isNew = between <= MAX_REFETCH || !this.#fetched.overlaps({ start: from, end: to });
      return between <= gap && gaps + between <= end - start - gaps && isNew;
    };
    for (let at = first + 1; at < this.#waiting.length && end - start < MAX_REQUEST; at += 1) {
      const queued = this.#waiting[at]!;
      isWhole = !mayJoin(end, queued.start) || queued.start - start >= MAX_REQUEST;
      if (isWhole) break;
      gaps += Math.max(0, queued.start - end);
      end = Math.max(end, queued.end);
    }
    for (let at = first - 1; at >= 0 && end - start < MAX_REQUEST; at -= 1) {
      const queued = this.#waiting[at]!;
      if (!mayJoin(queued.end, start) || end - queued.start > MAX_REQUEST) break;
      gaps += Math.max(0, start - queued.end);
      start = Math.min(start, queued.start);
    }
    return { start, end: Math.min(end, start + MAX_REQUEST), isWhole: isWhole || end - start >= MAX_REQUEST };
  }

  #run(request: RangeRequest): void {
    const { start, end, ranges, ending } = request;
    let at = start;
    const take = (bytes: Uint8Array) => {
      deliver(ranges, at, bytes);
      this.#between.add(at, bytes, ranges);
      at += bytes.length;
    };
    const fail = (thrown: unknown) => {
      for (const { wanted, end } of ranges) if (end > at) wanted.fail(thrown);
      this.#sweep();
    };
    const leave = () => {
      this.#active.delete(request);
      // `release` first: other queues have waited longer.
      this.host.release();
      this.start();
    };
    this.fetchRange({ start, end }, take, ending.signal).catch(fail).then(leave, leave);
  }
}

/** Returns what a request for `start` to `end` leaves of `queued`. */
function outside(queued: QueuedRange, start: number, end: number): QueuedRange[] {
  const before = { ...queued, end: start };
  const after = { ...queued, start: end };
  return [before, after].filter((rest) => rest.end > rest.start);
}

/** Adds `bytes`, at `start` in the file, to the ranges that want them. */
function deliver(ranges: QueuedRange[], start: number, bytes: Uint8Array): void {
  const end = start + bytes.length;
  for (const queued of ranges) {
    const [from, to] = [Math.max(queued.start, start), Math.min(queued.end, end)];
    if (from < to) queued.wanted.add(from, bytes.subarray(from - start, to - start));
  }
}
