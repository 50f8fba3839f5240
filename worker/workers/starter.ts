// What starts workers: it differs between browsers and Node.

import type { Build } from '../messages.js';
import type { WorkerPort } from '../rpc.js';
import type { Engine } from '../types.js';

export interface WorkerStarter {
  /** Starts a worker with a build. */
  spawn(build: Build): WorkerPort;
  /** The builds for an engine: the same one twice where nothing is saved by a small one. */
  builds(engine: Engine): { small: Build; full: Build };
  /** Compiles a build of the crate, once. */
  module(build: Build): Promise<WebAssembly.Module>;
}
