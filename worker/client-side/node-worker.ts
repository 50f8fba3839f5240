// The port of a Node worker thread.

import { DecantError } from '../errors/errors.js';
import { unexpectedEnd, type WorkerPort } from '../messages/rpc.js';
import type { NodeWorker } from '../public/types.node.js';

const SCRIPT = 'worker.node.mjs';

/** The error for a worker that did not start. */
export function notStarted(reason: string, cause: unknown): DecantError {
  const advice = `keep the package outside of the bundle, or set the location of its ${SCRIPT} with configure({ worker })`;
  return new DecantError('internal', `Could not start a worker: ${reason}; ${advice}`, {
    code: 'worker-not-started',
    fields: { script: SCRIPT },
    cause,
  });
}

/** Node's codes for a missing script, or a missing import of it. */
const NOT_FOUND = ['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'];

function failed(error: NodeJS.ErrnoException): string | DecantError {
  const isMissing = error.code !== undefined && NOT_FOUND.includes(error.code);
  return isMissing ? notStarted(error.message, error) : unexpectedEnd(error.message);
}

export function nodeWorker(worker: NodeWorker): WorkerPort {
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    listen: (message) => worker.on('message', message),
    onDeath(died) {
      worker.on('error', (error) => died(failed(error)));
      worker.on('messageerror', () => died(unexpectedEnd('a message could not be read')));
      worker.on('exit', (code) => died(unexpectedEnd(`exit code ${code}`)));
    },
    terminate: async () => void (await worker.terminate()),
    keepAlive: (alive) => (alive ? worker.ref() : worker.unref()),
  };
}
