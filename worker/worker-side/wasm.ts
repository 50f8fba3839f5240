// The crate as each engine has it.

import type * as Threads from 'decant-wasm/threads';
import type * as Workers from 'decant-wasm/workers';
import { outOfMemory } from '../errors/errors.js';

export type { Threads, Workers };
/** What both export. */
export type Crate = typeof Workers | typeof Threads;

/** Makes an instance for the `workers` engine. */
export function instantiate(glue: typeof Workers, module: WebAssembly.Module): typeof Workers {
  initialise(glue, module);
  return glue;
}

/** Fails with `internal` where there is no memory for an instance. */
function initialise(
  glue: { initSync(given: { module: WebAssembly.Module }): unknown },
  module: WebAssembly.Module,
): void {
  try {
    // The asynchronous one looks for `Request`, which makes Node load all that fetches: 20 ms.
    glue.initSync({ module });
  } catch (thrown) {
    throw thrown instanceof RangeError ? outOfMemory(thrown) : thrown;
  }
}

/** Makes one for the `threads` engine, with its pool; `died` is called when one of them fails. */
export async function instantiateThreads(
  glue: typeof Threads,
  module: WebAssembly.Module,
  threads: number,
  died: (reason: string) => void,
): Promise<typeof Threads> {
  initialise(glue, module);
  const unwatch = watchWorkers(died);
  try {
    await glue.initThreadPool(threads);
  } finally {
    unwatch();
  }
  return glue;
}

/**
 * The pool starts its workers by itself and does not notice when one of them fails: the job it had
 * would never end. So for as long as the pool starts, every worker made here gets a listener.
 */
function watchWorkers(died: (reason: string) => void): () => void {
  const original = globalThis.Worker;
  globalThis.Worker = class extends original {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, options);
      this.addEventListener('error', (event) => died(event.message));
    }
  };
  return () => {
    globalThis.Worker = original;
  };
}
