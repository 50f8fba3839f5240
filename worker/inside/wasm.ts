// The crate's builds. They export the same, but for the pool of the threads and the extras.

import type { Build } from '../messages.js';
import type * as Plain from '../wasm/plain/index.js';
import type * as PlainExtras from '../wasm/plain-extras/index.js';
import type * as Threads from '../wasm/threads/index.js';
import type * as ThreadsExtras from '../wasm/threads-extras/index.js';

export type { Plain, Threads };
/** What every build exports. */
export type Crate = typeof Plain | typeof Threads;
/** An image in a full build. */
export type FullImage = PlainExtras.OpenImage | ThreadsExtras.OpenImage;

/** Whether a build is one of the `threads` engine. */
export const isThreads = (build: Build) => build === 'threads' || build === 'threads-extras';

/** Makes an instance of a build of the `workers` engine. */
export function instantiate(glue: Crate, module: WebAssembly.Module): typeof Plain {
  // The asynchronous one looks for `Request`, which makes Node load all that fetches: 20 ms.
  glue.initSync({ module });
  return glue as typeof Plain;
}

/** The same with a pool of threads; `died` is called when one of them fails. */
export async function instantiateThreads(
  glue: Crate,
  module: WebAssembly.Module,
  threads: number,
  died: (reason: string) => void,
): Promise<typeof Threads> {
  const crate = glue as typeof Threads;
  crate.initSync({ module });
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
