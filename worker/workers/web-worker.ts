// A worker of the browser as a port.

import type { Build } from '../messages.js';
import { unexpectedEnd, type WorkerPort } from '../rpc.js';

const notLoaded = (build: Build): string =>
  `The script of a worker, the package's worker.${build}.js, could not be loaded; check the connection and reload the page, or say where it is with configure({ worker })`;

/** `worker`, which runs the script for `build`. */
export function webWorker(worker: Worker, build: Build): WorkerPort {
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    listen: (message) => worker.addEventListener('message', ({ data }) => message(data)),
    onDeath(died) {
      // A script that cannot be loaded has no message.
      worker.addEventListener('error', ({ message }) => died(message ? unexpectedEnd(message) : notLoaded(build)));
      worker.addEventListener('messageerror', () => died(unexpectedEnd('a message could not be read')));
    },
    terminate: async () => worker.terminate(),
    keepAlive: () => {},
  };
}
