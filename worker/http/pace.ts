// Tunes the number of parallel requests, and the gap that one request reads over, by measured latency and speed.

const FIRST_LIMIT = 4;
/** One more request at once must raise the throughput by this factor. */
const MIN_GAIN = 1.05;
/** Assumed before a measurement, in bytes per millisecond. */
const FIRST_SPEED = 10_000;
const FIRST_GAP = 64 << 10;
/** Upper bound on a gap, in bytes. */
const MAX_GAP = 1 << 20;
/** The weight of the newest measurement. */
const NEWEST_WEIGHT = 0.3;

export class Pace {
  /** How many requests may be made at once. */
  limit: number;
  /** Time to the first byte, in milliseconds. */
  #latency: number | undefined;
  /** The speed of one request, in bytes per millisecond. */
  #speed = FIRST_SPEED;
  /** Bytes received since `#since`, and requests that ended. */
  #came = 0;
  #since = performance.now();
  #ended = 0;
  /** The best throughput of fewer requests at once, in bytes per millisecond; 0 if unknown. */
  #best = 0;
  #hasSettled = false;

  /** `most` bounds `limit`. */
  constructor(private readonly most = 6) {
    this.limit = Math.min(FIRST_LIMIT, most);
  }

  /** The gap, in bytes, up to which reading over it is cheaper than another request. */
  get gap(): number {
    return this.#latency === undefined ? FIRST_GAP : Math.min(MAX_GAP, this.#latency * this.#speed);
  }

  answered(latency: number): void {
    this.#latency = smoothed(this.#latency ?? latency, latency);
  }

  /** Counts a request that received `bytes` in `milliseconds`. */
  ended(bytes: number, milliseconds: number): void {
    if (milliseconds > 0) this.#speed = smoothed(this.#speed, bytes / milliseconds);
    this.#came += bytes;
    this.#ended += 1;
    if (this.#ended < this.limit) return;
    const now = performance.now();
    this.#judge(this.#came / Math.max(1, now - this.#since));
    [this.#came, this.#since, this.#ended] = [0, now, 0];
  }

  /** Halves the limit, and measures again. */
  overloaded(): void {
    this.limit = Math.max(1, this.limit >> 1);
    [this.#best, this.#hasSettled] = [0, false];
  }

  #judge(rate: number): void {
    if (this.#hasSettled || this.limit >= this.most) return;
    if (rate >= this.#best * MIN_GAIN) {
      this.#best = rate;
      this.limit += 1;
    } else {
      this.#hasSettled = true;
    }
  }
}

const smoothed = (before: number, now: number): number => before * (1 - NEWEST_WEIGHT) + now * NEWEST_WEIGHT;
