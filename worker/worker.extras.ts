// A worker of the `workers` engine in browsers, by the full build.

import * as glue from 'decant-wasm/extras';
import { browserHost } from './inside/browser-host.js';
import { serveWorker } from './inside/worker.js';

serveWorker(browserHost, glue);
