// A worker thread of Node.

import * as glue from 'decant-wasm/workers';
import { nodeHost } from './worker-side/node-host.js';
import { serveWorker } from './worker-side/serve-worker.js';

serveWorker(nodeHost, glue);
