// What differs between browsers and Node, seen from the side that calls the API.

import type { Route } from '../routes/route.js';
import type { WorkerPort } from '../rpc.js';
import type { ConvertOptions, Engine, Output, Source } from '../types.js';

/** The builds of the crate: for each engine one without zstd and encryption, and one with them. */
export type Variant = 'plain' | 'plain-extras' | 'threads' | 'threads-extras';

/** A source as it travels to workers: a blob, or an open file of Node. */
export type SourceSpec = { blob: Blob } | { fd: number; size: number };

export interface OpenedSource {
  spec: SourceSpec;
  /** The same for every source that is one and the same file. */
  identity: unknown;
  name: string | undefined;
  /** Fails with `source` where the file is no longer what it was when it was opened. */
  verify(): Promise<void>;
  close(): Promise<void>;
}

export interface Platform {
  readonly cores: number;
  /** Why the `threads` engine cannot run here, or undefined where it can. */
  readonly noThreads: string | undefined;
  /** What each worker has for buffers by default, in bytes: four of the size in which files are read fastest. */
  readonly memoryPerWorker: number;
  /** Starts a coordinator. */
  spawnCoordinator(): WorkerPort;
  /** The build for an engine; `extras` tells whether it has to have zstd and encryption. */
  variant(engine: Engine, extras: boolean): Variant;
  /** Compiles a build of the crate, once. */
  module(variant: Variant): Promise<WebAssembly.Module>;
  openSource(source: Source): Promise<OpenedSource>;
  /** The route to `output`, which must not be one of `sources`; an output that cannot be is `usage`. */
  route(output: Output, sources: OpenedSource[], options: ConvertOptions): Route;
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

/** What a caller hands over as an image or an output may be anything, whatever the types say. */
export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
