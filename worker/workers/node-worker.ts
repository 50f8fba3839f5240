// A worker thread of Node as a port.

import { unexpectedEnd, type WorkerPort } from '../rpc.js';
import type { NodeWorker } from '../types.node.js';

export function nodeWorker(worker: NodeWorker): WorkerPort {
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    listen: (message) => worker.on('message', message),
    onDeath(died) {
      worker.on('error', (error: Error) => died(unexpectedEnd(error.message)));
      worker.on('messageerror', () => died(unexpectedEnd('a message could not be read')));
      worker.on('exit', (code) => died(unexpectedEnd(`exit code ${code}`)));
    },
    terminate: async () => void (await worker.terminate()),
    keepAlive: (alive) => (alive ? worker.ref() : worker.unref()),
  };
}
