// A coordinator of the `threads` engine, and each of its threads: rayon's helper in the glue starts this script again for
// them, and listens to messages of its own.

import * as glue from 'decant-wasm/threads';
import { browserHost } from './worker-side/browser-host.js';
import { serveThreads } from './worker-side/serve-worker.js';

serveThreads(browserHost, glue);
