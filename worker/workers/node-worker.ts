// A worker thread of Node as a port.

import { Worker } from 'node:worker_threads';
import { unexpectedEnd, type WorkerPort } from '../rpc.js';

export function nodeWorker(url: URL): WorkerPort {
  // Not with the options of the host program, some of which no worker can take.
  const worker = new Worker(url, { execArgv: [] });
  return {
    // biome-ignore lint/suspicious/noExplicitAny: the lists of transferable things have other names
    post: (message, transfer = []) => worker.postMessage(message, transfer as any),
    listen: (message) => worker.on('message', message),
    onDeath(died) {
      worker.on('error', (error) => died(unexpectedEnd(error.message)));
      worker.on('messageerror', () => died(unexpectedEnd('a message could not be read')));
      worker.on('exit', (code) => died(unexpectedEnd(`exit code ${code}`)));
    },
    terminate: async () => void (await worker.terminate()),
    keepAlive: (alive) => (alive ? worker.ref() : worker.unref()),
  };
}
