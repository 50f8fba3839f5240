// The package's files: their names, where a development server keeps them, and why one is not loaded.

import { DecantError, reasonOf } from '../errors/errors.js';
import type { Codec, Engine } from '../public/types.js';

/** The engines: their files, and whether one worker has all that decodes, with one memory, and is used for one conversion only. */
export const ENGINES: Record<Engine, { script: string; wasm: string; isOneWorker: boolean }> = {
  workers: { script: 'worker.js', wasm: 'decant.wasm', isOneWorker: false },
  threads: { script: 'worker.threads.js', wasm: 'threads.wasm', isOneWorker: true },
};

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

/** Caches the results of `make` by key. A failure is not cached. */
/* @__NO_SIDE_EFFECTS__ */
export function once<K, V>(make: (key: K) => Promise<V>): (key: K) => Promise<V> {
  const made = new Map<K, Promise<V>>();
  return (key) => {
    const known = made.get(key);
    if (known) return known;
    const promise = make(key);
    made.set(key, promise);
    promise.catch(() => made.delete(key));
    return promise;
  };
}

/** The error for a wasm file that was not loaded from `place`. `option` of `configure` sets where it is loaded from. */
export function fileNotLoaded(place: string, cause: unknown, advice: string, option: string): DecantError {
  const message = `Could not load ${place}: ${reasonOf(cause)}; ${advice}, or set its location with configure({ ${option} })`;
  return new DecantError('internal', message, { code: 'wasm-not-loaded', fields: { place }, cause });
}

/** Vite's default folder for copies. */
const CACHE = '/node_modules/.vite/deps/';

/** The URL of the package's file `name` if `module`, the URL of one of its modules, is such a copy. */
export const fromViteCache = (name: string, module: string | undefined): URL | undefined =>
  module?.includes(CACHE) ? new URL(`../../decant/dist/${name}`, module) : undefined;
