// Instances of the wasm for each engine.

import type * as Threads from 'decant-wasm/threads';
import type * as Workers from 'decant-wasm/workers';
import { outOfMemory } from '../errors/errors.js';
import type { Codec } from '../public/types.js';
import type { CodecModules } from './codec-modules.js';

export type { Threads, Workers };

/** Instantiates the wasm for the `workers` engine. Throws `internal` if there is not enough memory. */
export function instantiate(glue: typeof Workers, module: WebAssembly.Module, codecs: CodecModules): typeof Workers {
  initialise(glue, module, codecs);
  return glue;
}

/** Instantiates the wasm. Throws `internal` if there is not enough memory. */
export function initialise(
  glue: Pick<typeof Workers | typeof Threads, 'initSync' | 'loadModulesBy'>,
  module: WebAssembly.Module,
  codecs: CodecModules,
): void {
  try {
    // Not the asynchronous function: it uses `Request`, which makes Node load `fetch` (20 ms).
    glue.initSync({ module });
    glue.loadModulesBy((name: Codec) => codecs.load(name));
  } catch (thrown) {
    throw thrown instanceof RangeError ? outOfMemory(thrown) : thrown;
  }
}
