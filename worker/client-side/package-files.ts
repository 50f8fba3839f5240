// The names of the package's files for each engine in browsers.

import type { Codec, Engine } from '../public/types.js';

/** The worker scripts. */
export const SCRIPTS: Record<Engine, string> = { workers: 'worker.js', threads: 'worker.threads.js' };

/** The wasm files of the engines. */
export const WASM: Record<Engine, string> = { workers: 'decant.wasm', threads: 'threads.wasm' };

/** The wasm files of codecs. */
export const CODECS: Record<Codec, string> = { zstd: 'zstd.wasm' };

/** Returns `bytes`. Throws if they are not valid wasm: a worker could only trap then. */
export function validWasm(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  if (!WebAssembly.validate(bytes)) throw new Error('it is not valid WebAssembly');
  return bytes;
}
