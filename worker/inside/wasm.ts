// The crate's two builds, which export the same but for the pool.

import type * as Plain from '../wasm/plain/index.js';
import type * as Threads from '../wasm/threads/index.js';

export type { Plain, Threads };

export async function loadPlain(module: WebAssembly.Module): Promise<typeof Plain> {
  const crate = await import('../wasm/plain/index.js');
  await crate.default({ module_or_path: module });
  return crate;
}

/** `died` is called when a thread of the pool fails. */
export async function loadThreads(
  module: WebAssembly.Module,
  threads: number,
  died: (reason: string) => void,
): Promise<typeof Threads> {
  const crate = await import('../wasm/threads/index.js');
  await crate.default({ module_or_path: module });
  const unwatch = watchWorkers(died);
  try {
    await crate.initThreadPool(threads);
  } finally {
    unwatch();
  }
  return crate;
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
