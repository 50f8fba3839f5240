// The findings of a contract test: sentences about faults.

import { reasonOf } from '../errors/errors.js';

/** How long a call may take, in milliseconds, before it counts as one that never settles. */
const PATIENCE = 10_000;

/** A list of faults without repetitions. */
export class Findings {
  readonly sentences: string[] = [];

  add(sentence: string): void {
    if (!this.sentences.includes(sentence)) this.sentences.push(sentence);
  }

  /** Resolves to the result of `call`. If it fails or does not settle, adds a sentence about `name` and resolves to `undefined`. */
  async call<T>(name: string, call: () => Promise<T> | T, patience = PATIENCE): Promise<{ value: T } | undefined> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), patience);
    });
    try {
      const result = await Promise.race([(async () => ({ value: await call() }))(), late]);
      if (result !== 'late') return result;
      this.add(`${name} has not settled within ${patience / 1000} seconds`);
    } catch (thrown) {
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
