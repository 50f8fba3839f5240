// Serves a worker, which becomes a coordinator or a pool worker by its first call.

import { CODEC_NEEDED } from '../messages/messages.js';
import { serve } from '../messages/rpc.js';
import { CodecModules } from './codec-modules.js';
import { coordinatorMethods } from './coordinator-methods.js';
import { poolMethods } from './pool-methods.js';
import { threadPoolMethods } from './thread-pool.js';
import { instantiate, type Threads, type Workers } from './wasm.js';
import type { WorkerHost } from './worker-host.js';

/** Serves the `workers` engine. */
export function serveWorker(host: WorkerHost, glue: typeof Workers): void {
  const codecs = new CodecModules((name) => report(CODEC_NEEDED, name));
  const report = serve(host.port, {
    ...coordinatorMethods(
      host,
      (module) => instantiate(glue, module, codecs),
      (event, detail) => report(event, detail),
    ),
    ...poolMethods(host, glue, codecs),
    ...codecs.methods,
  });
}

/** Serves the worker of the `threads` engine that owns the threads, and each thread. */
export function serveThreads(host: WorkerHost, glue: typeof Threads): void {
  const codecs = new CodecModules((name) => report(CODEC_NEEDED, name));
  const report = serve(host.port, { ...threadPoolMethods(host, glue, codecs), ...codecs.methods });
}
