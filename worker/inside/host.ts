// What differs between browsers and Node, seen from inside a worker.

import type { SourceSpec, Variant } from '../platform/platform.js';
import type { TargetSpec } from '../routes/route.js';
import type { Port, WorkerPort } from '../rpc.js';
import type { Crate } from './wasm.js';

/** A sink as the crate takes it (`crate/src/web/mod.rs`). */
export type CrateSink =
  | { writable: FileSystemWritableFileStream }
  | { handle: FileSystemSyncAccessHandle }
  | { object: ObjectSink };

/** A source that is an object: `read` fills `bytes` before it returns, and may ask to let others run. */
export interface ObjectSource {
  readonly size: number;
  read(offset: number, bytes: Uint8Array): Promise<void> | undefined;
}

/** A sink that is an object: `write` is synchronous and keeps nothing of `bytes`. */
export interface ObjectSink {
  /** Holes are wanted as zeros. */
  readonly dense?: boolean;
  write(offset: number, bytes: Uint8Array): void;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
  abort(): Promise<void>;
}

export interface Target {
  sink: CrateSink;
  /** Whether pool workers write by themselves, each with a sink of its own. */
  shared: boolean;
}

/** A pool worker's own way to a target. */
export interface Share {
  sink: CrateSink;
  close(): void;
}

export interface Host {
  /** To the one who started this worker. */
  readonly port: Port;
  spawnPoolWorker(): WorkerPort;
  /** The script of a build; asking again for one costs nothing. */
  glue(variant: Variant): Promise<Crate>;
  /** A source as the crate takes it. */
  source(spec: SourceSpec): unknown;
  /** Opens a target for a conversion by pool workers, or by threads in this worker. */
  openTarget(spec: TargetSpec, poolWorkers: boolean): Promise<Target>;
  openShare(spec: TargetSpec): Promise<Share>;
}
