// How many requests are made at once, and how far apart two ranges may lie for one request: by what was measured.

/** As many to begin with. */
const FIRST_LIMIT = 4;
/** More requests at once are worth it where they bring more by this factor. */
const MIN_GAIN = 1.05;
/** Before anything is known, in bytes for each millisecond. */
const FIRST_SPEED = 10_000;
const FIRST_GAP = 64 << 10;
/** Upper bound on a gap, in bytes. */
const MAX_GAP = 1 << 20;
/** What was measured last counts as much. */
const NEWEST_WEIGHT = 0.3;

export class Pace {
  /** How many requests may be under way. */
  limit: number;
  /** How long an answer takes to begin, in milliseconds. */
  #latency: number | undefined;
  /** Of one request. */
  #speed = FIRST_SPEED;
  /** What came since `#since`, in bytes, and how many requests have ended in that time. */
  #came = 0;
  #since = performance.now();
  #ended = 0;
  /** The best that came of fewer requests at once, in bytes for each millisecond; 0 before that is known. */
  #best = 0;
  #hasSettled = false;

  /** Never more than `most`. */
  constructor(private readonly most = 6) {
    this.limit = Math.min(FIRST_LIMIT, most);
  }

  /** Bytes between two ranges, up to as many, cost less than one more request. */
  get gap(): number {
    return this.#latency === undefined ? FIRST_GAP : Math.min(MAX_GAP, this.#latency * this.#speed);
  }

  answered(latency: number): void {
    this.#latency = smoothed(this.#latency ?? latency, latency);
  }

  /** A request has ended, which has brought `bytes` in `milliseconds`. */
  ended(bytes: number, milliseconds: number): void {
    if (milliseconds > 0) this.#speed = smoothed(this.#speed, bytes / milliseconds);
    this.#came += bytes;
    this.#ended += 1;
    if (this.#ended < this.limit) return;
    const now = performance.now();
    this.#judge(this.#came / Math.max(1, now - this.#since));
    [this.#came, this.#since, this.#ended] = [0, now, 0];
  }

  /** The server asks for less, or the network brings nothing. */
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
