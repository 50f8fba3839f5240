// The findings of a contract test: sentences about faults.

import { reasonOf } from '../errors/errors.js';
import { within } from '../errors/signals.js';

/** How long a call may take, in milliseconds, before it counts as one that never settles. */
const CALL_TIMEOUT = 10_000;

/** Ends a test: each later call could take as long. */
class Unsettled extends Error {}

/** A list of faults without repetitions. */
export class Findings {
  readonly sentences: string[] = [];

  add(sentence: string): void {
    if (!this.sentences.includes(sentence)) this.sentences.push(sentence);
  }

  /** Runs `test`, at most until a call does not settle. Resolves to the sentences. */
  async of(test: () => Promise<void>): Promise<string[]> {
    try {
      await test();
    } catch (thrown) {
      if (!(thrown instanceof Unsettled)) throw thrown;
    }
    return this.sentences;
  }

  /**
   * Resolves to the result of `call`. If it fails, adds a sentence about `name` and resolves to `undefined`. If it does not
   * settle within `time` milliseconds, adds a sentence and ends the test.
   */
  async call<T>(name: string, call: () => Promise<T> | T, time = CALL_TIMEOUT): Promise<{ value: T } | undefined> {
    const calling = (async () => ({ value: await call() }))();
    try {
      return await within(time, calling, () => {
        this.add(`${name} has not settled within ${time / 1000} seconds`);
        throw new Unsettled();
      });
    } catch (thrown) {
      if (thrown instanceof Unsettled) throw thrown;
      this.add(`${name} has failed: ${reasonOf(thrown)}`);
      return undefined;
    }
  }
}

/** The index of the first byte that differs; `undefined` if the arrays are equal. */
export function firstDifference(a: Uint8Array, b: Uint8Array): number | undefined {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) if (a[at] !== b[at]) return at;
  return a.length === b.length ? undefined : length;
}
