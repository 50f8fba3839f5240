import { browserHost } from './inside/browser-host.js';
import { servePool } from './inside/pool.js';

servePool(browserHost);
