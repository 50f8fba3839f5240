import { serveCoordinator } from './inside/coordinator.js';
import { nodeHost } from './inside/node-host.js';

serveCoordinator(nodeHost);
