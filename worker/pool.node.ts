import { nodeHost } from './inside/node-host.js';
import { servePool } from './inside/pool.js';

servePool(nodeHost);
