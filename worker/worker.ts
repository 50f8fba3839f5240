// A worker of the `workers` engine in browsers.

import * as glue from 'decant-wasm/workers';
import { browserHost } from './inside/browser-host.js';
import { serveWorker } from './inside/worker.js';

serveWorker(browserHost, glue);
