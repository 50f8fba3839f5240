// Instances of the wasm for each engine.

import type * as Threads from 'decant-wasm/threads';
import type * as Workers from 'decant-wasm/workers';
import { outOfMemory } from '../errors/errors.js';
import type { Codec } from '../public/types.js';
import type { CodecModules } from './codec-modules.js';

export type { Threads, Workers };
/** The exports of both builds. */
export type Crate = typeof Workers | typeof Threads;

/** Instantiates the wasm for the `workers` engine. Throws `internal` if there is not enough memory. */
export function instantiate(glue: typeof Workers, module: WebAssembly.Module, codecs: CodecModules): typeof Workers {
  initialise(glue, module, codecs);
  return glue;
}

/** Instantiates the wasm. Throws `internal` if there is not enough memory. */
function initialise(
  glue: Pick<Crate, 'initSync' | 'loadModulesBy'>,
  module: WebAssembly.Module,
  codecs: CodecModules,
): void {
  try {
    // Not the asynchronous function: it uses `Request`, which makes Node load `fetch` (20 ms).
    glue.initSync({ module });
    glue.loadModulesBy((name: Codec) => codecs.load(name));
  } catch (thrown) {
    throw thrown instanceof RangeError ? outOfMemory(thrown) : thrown;
  }
}

/** Instantiates the wasm for the `threads` engine and starts its pool. Calls `died` when a thread fails. */
export async function instantiateThreads(
  glue: typeof Threads,
  module: WebAssembly.Module,
  threads: number,
  codecs: CodecModules,
  died: (reason: string) => void,
): Promise<typeof Threads> {
  initialise(glue, module, codecs);
  const unwatch = watchWorkers(died);
  try {
    await glue.initThreadPool(threads);
  } finally {
    unwatch();
  }
  return glue;
}

/**
 * Adds a listener to every worker that is created until the returned function is called. The pool creates its workers itself
 * and does not notice when one fails, so that its job would never end.
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
