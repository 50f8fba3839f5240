// A worker of the `workers` engine in browsers.

import * as glue from 'decant-wasm/workers';
import { browserHost } from './worker-side/browser-host.js';
import { serveWorker } from './worker-side/coordinator-methods.js';

serveWorker(browserHost, glue);
