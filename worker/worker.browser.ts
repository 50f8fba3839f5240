// A worker of the browser: a coordinator, or one of a pool. One script for both is loaded once.

import { browserHost, POOL } from './inside/browser-host.js';
import { serveCoordinator } from './inside/coordinator.js';
import { servePool } from './inside/pool.js';

if (self.name === POOL) servePool(browserHost);
else serveCoordinator(browserHost);
