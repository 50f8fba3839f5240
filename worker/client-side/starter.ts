// What starts workers: it differs between browsers and Node.

import type { WorkerPort } from '../messages/rpc.js';
import type { Engine } from '../public/types.js';

export interface WorkerStarter {
  /** Starts a worker of an engine. */
  spawn(engine: Engine): WorkerPort;
  /** Compiles the crate for an engine, once. */
  module(engine: Engine): Promise<WebAssembly.Module>;
}
