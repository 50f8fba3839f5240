// `decant/threads`: a separate entry point, since the engine adds half a megabyte.

import { fromViteCache } from './client-side/package-files.js';
import type { Threads } from './public/types.js';

export type { Threads };

/**
 * The `threads` engine, for `configure({ threads })`: one shared memory instead of one for each worker. It needs a
 * cross-origin isolated page.
 */
export const threads: Threads = {
  worker() {
    const original = fromViteCache('worker.threads.js', import.meta.url);
    if (original) return new Worker(original, { type: 'module' });
    return new Worker(new URL('./worker.threads.js', import.meta.url), { type: 'module' });
  },
  wasm: () => fromViteCache('threads.wasm', import.meta.url) ?? new URL('./threads.wasm', import.meta.url),
};
