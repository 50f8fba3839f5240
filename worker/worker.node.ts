// A worker thread of Node.

import * as glue from 'decant-wasm/workers';
import { serveWorker } from './worker-side/coordinator-methods.js';
import { nodeHost } from './worker-side/node-host.js';

serveWorker(nodeHost, glue);
