import { nodeHost } from './inside/node-host.js';
import { serveCoordinator } from './inside/coordinator.js';

serveCoordinator(nodeHost);
