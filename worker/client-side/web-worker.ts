// A worker of the browser as a port.

import { DecantError } from '../errors/errors.js';
import { unexpectedEnd, type WorkerPort } from '../messages/rpc.js';
import type { Engine } from '../public/types.js';
import { SCRIPTS } from './package-files.js';
import type { PolicyReports } from './policy.js';

const notLoaded = (engine: Engine): DecantError => {
  const script = SCRIPTS[engine];
  const message = `The script of a worker, the package's ${script}, could not be loaded; check the connection and reload the page, or set its location with configure({ worker })`;
  return new DecantError('internal', message, { code: 'worker-not-started', fields: { script } });
};

/** `worker`, which runs the script for `engine`. `reports` began before it, and end when it runs or has ended. */
export function webWorker(worker: Worker, engine: Engine, reports: PolicyReports): WorkerPort {
  worker.addEventListener('message', () => reports.end(), { once: true });
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    listen: (message) => worker.addEventListener('message', ({ data }) => message(data)),
    onDeath(died) {
      worker.addEventListener('error', ({ message }) => {
        if (message) died(unexpectedEnd(message));
        // A script that cannot be loaded has no message.
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
