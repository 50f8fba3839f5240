// A worker of the browser as a port.

import type { WorkerPort } from '../rpc.js';

export function webWorker(worker: Worker): WorkerPort {
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    listen: (message) => worker.addEventListener('message', ({ data }) => message(data)),
    onDeath(died) {
      worker.addEventListener('error', (event) => died(event.message || 'it could not be loaded'));
      worker.addEventListener('messageerror', () => died('a message could not be read'));
    },
    terminate: async () => worker.terminate(),
    keepAlive: () => {},
  };
}
