// The crate's builds. They export the same, but for the pool of the threads and the extras.

import type { Variant } from '../platform/platform.js';
import type * as Plain from '../wasm/plain/index.js';
import type * as PlainExtras from '../wasm/plain-extras/index.js';
import type * as Threads from '../wasm/threads/index.js';
import type * as ThreadsExtras from '../wasm/threads-extras/index.js';

export type { Plain, Threads };
/** What every build exports. */
export type Crate = typeof Plain | typeof Threads;
/** An image in a build with extras. */
export type Unlockable = PlainExtras.OpenImage | ThreadsExtras.OpenImage;

// Each is imported where it is needed only, and by a name that bundlers can follow.
const loadPlainGlue = (variant: Variant) =>
  variant === 'plain-extras' ? import('../wasm/plain-extras/index.js') : import('../wasm/plain/index.js');
const loadThreadsGlue = (variant: Variant) =>
  variant === 'threads-extras' ? import('../wasm/threads-extras/index.js') : import('../wasm/threads/index.js');

/** Whether a build is one of the `threads` engine. */
export const isThreads = (variant: Variant) => variant === 'threads' || variant === 'threads-extras';

/** Begins to load the script of a build, which takes as long as the module takes to compile. */
export function fetchGlue(variant: Variant): void {
  // A failure is told to whoever loads the build.
  (isThreads(variant) ? loadThreadsGlue(variant) : loadPlainGlue(variant)).catch(() => {});
}

export async function loadPlain(variant: Variant, module: WebAssembly.Module): Promise<typeof Plain> {
  const crate = await loadPlainGlue(variant);
  // The asynchronous one looks for `Request`, which makes Node load all that fetches: 20 ms.
  crate.initSync({ module });
  return crate as typeof Plain;
}

/** `died` is called when a thread of the pool fails. */
export async function loadThreads(
  variant: Variant,
  module: WebAssembly.Module,
  threads: number,
  died: (reason: string) => void,
): Promise<typeof Threads> {
  const crate = await loadThreadsGlue(variant);
  crate.initSync({ module });
  const unwatch = watchWorkers(died);
  try {
    await crate.initThreadPool(threads);
  } finally {
    unwatch();
  }
  return crate as typeof Threads;
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
