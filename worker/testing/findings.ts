// The findings of a contract test: sentences about faults.

import { reasonOf } from '../errors/errors.js';

/** How long a call may take, in milliseconds, before it counts as one that never settles. */
const PATIENCE = 10_000;

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
   * settle, adds a sentence and ends the test.
   */
  async call<T>(name: string, call: () => Promise<T> | T, patience = PATIENCE): Promise<{ value: T } | undefined> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), patience);
    });
    try {
      const result = await Promise.race([(async () => ({ value: await call() }))(), late]);
      if (result !== 'late') return result;
      this.add(`${name} has not settled within ${patience / 1000} seconds`);
      throw new Unsettled();
    } catch (thrown) {
      if (thrown instanceof Unsettled) throw thrown;
      this.add(`${name} has failed: ${reasonOf(thrown)}`);
    } finally {
      clearTimeout(timer);
    }
    return undefined;
  }
}

/** The index of the first byte that differs; `undefined` if the arrays are equal. */
export function firstDifference(a: Uint8Array, b: Uint8Array): number | undefined {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) if (a[at] !== b[at]) return at;
  return a.length === b.length ? undefined : length;
}
