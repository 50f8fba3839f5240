// A worker of the browser as a port.

import { unexpectedEnd, type WorkerPort } from '../rpc.js';

const NOT_LOADED = 'The script of a worker could not be loaded; check the connection and reload the page';

export function webWorker(worker: Worker): WorkerPort {
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    listen: (message) => worker.addEventListener('message', ({ data }) => message(data)),
    onDeath(died) {
      // A script that cannot be loaded has no message.
      worker.addEventListener('error', ({ message }) => died(message ? unexpectedEnd(message) : NOT_LOADED));
      worker.addEventListener('messageerror', () => died(unexpectedEnd('a message could not be read')));
    },
    terminate: async () => worker.terminate(),
    keepAlive: () => {},
  };
}
