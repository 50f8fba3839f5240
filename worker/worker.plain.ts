// A worker of the `workers` engine in browsers, by the small build.

import * as glue from 'decant-wasm/plain';
import { browserHost } from './inside/browser-host.js';
import { serveWorker } from './inside/worker.js';

serveWorker(browserHost, glue);
