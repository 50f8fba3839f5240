// The port of a web worker.

import { DecantError } from '../errors/errors.js';
import { unexpectedEnd, type WorkerPort } from '../messages/rpc.js';
import type { Engine } from '../public/types.js';
import { SCRIPTS } from './package-files.js';
import type { PolicyReports } from './policy.js';

const notLoaded = (engine: Engine): DecantError => {
  const script = SCRIPTS[engine];
  const message = `Could not load the package's worker script ${script}; check the connection and reload the page, or set its location with configure({ worker })`;
  return new DecantError('internal', message, { code: 'worker-not-started', fields: { script } });
};

/** The port of `worker`, which runs the script for `engine`. Ends `reports` when the worker has sent a message or ended. */
export function webWorker(worker: Worker, engine: Engine, reports: PolicyReports): WorkerPort {
  worker.addEventListener('message', () => reports.end(), { once: true });
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    listen: (message) => worker.addEventListener('message', ({ data }) => message(data)),
    onDeath(died) {
      worker.addEventListener('error', ({ message }) => {
        if (message) died(unexpectedEnd(message));
        // The error event of a script that cannot be loaded has no message.
        else reports.forWorker().then((forbidden) => died(forbidden ?? notLoaded(engine)), died);
      });
      worker.addEventListener('messageerror', () => died(unexpectedEnd('a message could not be read')));
    },
    terminate: async () => {
      reports.end();
      worker.terminate();
    },
    keepAlive: () => {},
  };
}
