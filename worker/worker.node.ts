// A worker thread of Node.

import * as glue from 'decant-wasm/workers';
import { nodeHost } from './inside/node-host.js';
import { serveWorker } from './inside/worker.js';

serveWorker(nodeHost, glue);
