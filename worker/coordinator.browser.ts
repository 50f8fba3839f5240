import { browserHost } from './inside/browser-host.js';
import { serveCoordinator } from './inside/coordinator.js';

serveCoordinator(browserHost);
