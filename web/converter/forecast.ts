// How long a conversion will still take. What is stored takes the time, not the disk's length: the map says
// how much that is. At first the speed is the one that this browser is known to have, then more and more the
// one that is seen.

import type { Progress } from 'decant';

/** From this share on only what is seen counts. */
const KNOWN = 0.2;

export class Forecast {
  #start: number | undefined;

  /**
   * `data` bytes are stored in the image, if that is known; `rate` of them, in bytes per second, are converted by
   * what was learned; `finishing` seconds the browser takes afterwards.
   */
  constructor(
    private readonly data: number | undefined,
    private readonly rate: number | undefined,
    readonly finishing: number | undefined,
  ) {}

  /** How much is converted, 0 to 1: of the data, or where its amount is not known, of the disk. */
  share({ guestDone, guestTotal, dataDone }: Progress): number {
    const share = this.data ? dataDone / this.data : guestDone / guestTotal;
    return Math.min(1, share || 0);
  }

  /** Seconds until the file is complete; undefined where there is nothing to go by. */
  secondsLeft({ phase, dataDone, secondsLeft }: Progress): number | undefined {
    if (phase !== 'converting') return undefined;
    const now = performance.now() / 1000;
    this.#start ??= now;
    const after = this.finishing ?? 0;
    if (!this.data) return secondsLeft === undefined ? undefined : secondsLeft + after;
    const left = Math.max(0, this.data - dataDone);
    const elapsed = now - this.#start;
    const seen = elapsed > 0 && dataDone > 0 ? left / (dataDone / elapsed) : undefined;
    const learned = this.rate ? left / this.rate : undefined;
    if (seen === undefined || learned === undefined) return seen === undefined ? undefined : seen + after;
    const weight = Math.min(1, dataDone / this.data / KNOWN);
    return seen * weight + learned * (1 - weight) + after;
  }
}
