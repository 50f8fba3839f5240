// Serves a worker, which becomes a coordinator or a pool worker by its first call.

import { CODEC_NEEDED } from '../messages/messages.js';
import { type Port, serve } from '../messages/rpc.js';
import { CodecModules } from './codec-modules.js';
import { coordinatorMethods } from './coordinator-methods.js';
import { poolMethods } from './pool-methods.js';
import { instantiate, instantiateThreads, type Threads, type Workers } from './wasm.js';
import type { WorkerHost } from './worker-host.js';

/** Serves the `workers` engine. */
export function serveWorker(host: WorkerHost, glue: typeof Workers): void {
  const codecs = new CodecModules((name) => report(CODEC_NEEDED, name));
  const report = serve(host.port, {
    ...coordinatorMethods(
      host,
      async (module) => instantiate(glue, module, codecs),
      (event, detail) => report(event, detail),
    ),
    ...poolMethods(host, glue, codecs),
    ...codecs.methods,
  });
}

/** Whether a message is between wasm-bindgen-rayon and its threads. */
const isRayons = (data: unknown): boolean =>
  String((data as { type?: unknown }).type).startsWith('wasm_bindgen_worker_');

/** Serves a coordinator of the `threads` engine. */
export function serveThreads(host: WorkerHost, glue: typeof Threads): void {
  const port: Port = {
    post: host.port.post,
    listen: (message) => host.port.listen((data) => void (isRayons(data) || message(data))),
  };
  const codecs = new CodecModules((name) => report(CODEC_NEEDED, name));
  const start = (module: WebAssembly.Module, threads: number) =>
    instantiateThreads(glue, module, threads, codecs, (reason) => report('died', reason));
  const report = serve(port, {
    ...coordinatorMethods(host, start, (event, detail) => report(event, detail)),
    ...codecs.methods,
  });
}
