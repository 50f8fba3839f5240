// The names of the package's files for each engine in browsers, and their URLs if a development server moved them.

import type { Codec, Engine } from '../public/types.js';

/** The worker scripts. */
export const SCRIPTS: Record<Engine, string> = { workers: 'worker.js', threads: 'worker.threads.js' };

/** The wasm files of the engines. */
export const WASM: Record<Engine, string> = { workers: 'decant.wasm', threads: 'threads.wasm' };

/** The wasm file of the codec `name`. */
export const codecFile = (name: Codec): string => `${name}.wasm`;

/** Resolves to `bytes`. Rejects if they are not the wasm of the codec `name`, with which a worker would trap. */
export async function checkedCodec(name: Codec, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const module = await WebAssembly.compile(bytes);
  const found = WebAssembly.Module.exports(module).map((exported) => exported.name);
  // Among others, it exports a function that has its name.
  if (!found.includes(name) || WebAssembly.Module.imports(module).length > 0) {
    throw new Error(`it is not the ${codecFile(name)} of this version of the package`);
  }
  return bytes;
}

/** Vite's default folder for copies. */
const CACHE = '/node_modules/.vite/deps/';

/** The URL of the package's file `name` if `module`, the URL of one of its modules, is such a copy. */
export const fromViteCache = (name: string, module: string | undefined): URL | undefined =>
  module?.includes(CACHE) ? new URL(`../../decant/dist/${name}`, module) : undefined;
