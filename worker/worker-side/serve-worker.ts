// Serves a worker of the `workers` engine, which becomes a coordinator or a pool worker by its first call.

import { coordinatorMethods } from './coordinator-methods.js';
import { poolMethods } from './pool-methods.js';
import { instantiate, serveWithCodecs, type Workers } from './wasm.js';
import type { WorkerHost } from './worker-host.js';

export function serveWorker(host: WorkerHost, glue: typeof Workers): void {
  serveWithCodecs(host.port, (codecs, report) => ({
    ...coordinatorMethods(host, (module) => instantiate(glue, module, codecs), report),
    ...poolMethods(host, glue, codecs),
  }));
}
