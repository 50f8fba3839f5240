// How workers start: the part that differs between browsers and Node.

import type { WorkerPort } from '../messages/rpc.js';
import type { Codec, Engine } from '../public/types.js';

export interface WorkerStarter {
  /** Starts a worker for `engine`. */
  spawn(engine: Engine): WorkerPort;
  /** Compiles the wasm for `engine`. The result is cached. */
  module(engine: Engine): Promise<WebAssembly.Module>;
  /** Loads the wasm of a codec. The result is cached. */
  codec(name: Codec): Promise<Uint8Array>;
}
