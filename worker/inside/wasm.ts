// The crate's builds. They export the same, but for the pool of the threads and the extras.

import type * as Extras from 'decant-wasm/extras';
import type * as Plain from 'decant-wasm/plain';
import type * as Threads from 'decant-wasm/threads';

export type { Plain, Threads };
/** What every build exports. */
export type Crate = typeof Plain | typeof Threads;
/** An image in a full build. */
export type FullImage = Extras.OpenImage | Threads.OpenImage;

/** Makes an instance of a build of the `workers` engine. */
export function instantiate(glue: typeof Plain, module: WebAssembly.Module): typeof Plain {
  // The asynchronous one looks for `Request`, which makes Node load all that fetches: 20 ms.
  glue.initSync({ module });
  return glue;
}

/** The same with a pool of threads; `died` is called when one of them fails. */
export async function instantiateThreads(
  glue: typeof Threads,
  module: WebAssembly.Module,
  threads: number,
  died: (reason: string) => void,
): Promise<typeof Threads> {
  glue.initSync({ module });
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
