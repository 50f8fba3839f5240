// A worker of the `threads` engine: the owner of the threads, and each thread. wasm-bindgen-rayon starts this script again for them and
// uses its own messages.

import * as glue from 'decant-wasm/threads';
import { browserHost } from './worker-side/browser-host.js';
import { serveThreads } from './worker-side/thread-pool.js';

serveThreads(browserHost, glue);
