// The coordinator of the `threads` engine, and each of its threads: wasm-bindgen-rayon starts this script again for them and
// uses its own messages.

import * as glue from 'decant-wasm/threads';
import { browserHost } from './worker-side/browser-host.js';
import { serveThreads } from './worker-side/serve-worker.js';

serveThreads(browserHost, glue);
