// What differs between browsers and Node, seen from the side that calls the API.

import type { WorkerStarter } from '../client-side/starter.js';
import type { HttpOptions } from '../http/types.js';
import type { ConvertOptions, Input, Output } from '../public/given.js';
import type { OpenedSource } from '../sources/opened-source.js';
import type { OutputTarget } from '../targets/output-target.js';

export interface Platform extends WorkerStarter {
  readonly cores: number;
  /** Why the `threads` engine cannot run here, or undefined where it can. */
  readonly noThreads: string | undefined;
  /** The options of `convert` that only this platform has. */
  readonly convertOptions: readonly string[];
  /** What each worker has for buffers by default, in bytes: four of the size in which files are read fastest. */
  readonly memoryPerWorker: number;
  openSource(input: Input, options: HttpOptions): Promise<OpenedSource>;
  /** The target to `output`, which must not be one of `sources`; an output that cannot be is `usage`. */
  target(output: Output, sources: OpenedSource[], options: ConvertOptions): OutputTarget;
}

/** Calls `make` once for each key, when it is first needed, and again only after a failure. */
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
