// The package's files for each engine in browsers, by their names.

import type { Engine } from '../public/types.js';

/** What a worker runs. */
export const SCRIPTS: Record<Engine, string> = { workers: 'worker.js', threads: 'worker.threads.js' };

/** The crate. */
export const WASM: Record<Engine, string> = { workers: 'decant.wasm', threads: 'threads.wasm' };
