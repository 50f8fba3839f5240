// What differs between browsers and Node, seen from inside a worker.

import type { FileSpec, TargetSpec } from '../messages/messages.js';
import type { Port } from '../messages/rpc.js';
import type { StorageJournal } from './storage-journal.js';

/** A pool worker's own way to a target, as the crate takes it (`crate/src/js/handle.rs`). */
export type CrateHandle = { handle: FileSystemSyncAccessHandle } | { object: ObjectHandle };

/** A target as the crate takes it (`crate/src/js/targets.rs`). */
export type CrateTarget =
  | { writable: FileSystemWritableFileStream }
  | { handle: FileSystemSyncAccessHandle }
  | { object: ObjectTarget };

/** A source that is an object: `read` fills `bytes` before it returns, and may ask to let others run. */
export interface ObjectSource {
  readonly size: number;
  read(offset: number, bytes: Uint8Array): Promise<void> | undefined;
}

/** A source of the caller's, whose bytes come from the calling side: `fetch` resolves to exactly `length` bytes. */
export interface CustomSource {
  readonly size: number;
  /** Ranges at most this many bytes apart are better read as one. */
  readonly gap: number;
  /** A read of this many bytes is worth its call. */
  readonly worth: number;
  /** More reads than this wait for others to end. */
  readonly readsAtOnce: number;
  /** Whether it is to be told what will be read. */
  readonly expects: boolean;
  /** Ranges that the reader of this number will have fetched: `[offset, length, offset, length, ...]`; none at its end. */
  expect(reader: number, ranges: Float64Array): void;
  fetch(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Nobody waits for what `fetch` has returned any more. */
  giveUp(read: Promise<Uint8Array<ArrayBuffer>>): void;
}

/** A stream of the caller's: `next` resolves to the next `length` bytes, or to as many as there are. */
export interface CustomStream {
  next(length: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** An open target: `write` keeps nothing of `bytes` behind its return, or behind the promise with which it may ask to wait. */
export interface ObjectHandle {
  write(offset: number, bytes: Uint8Array): Promise<void> | undefined;
}

/**
 * A target that is an object: the crate's `Target` (`crate/src/io/target.rs`), whose contract it has. Only a `filled` one or
 * a `told` one is told of holes.
 */
export interface ObjectTarget extends ObjectHandle {
  /** Writes and holes are wanted in ascending order, one after the other. */
  readonly ordered?: boolean;
  /** What it does where the output has no data: by default what is never written reads as zero. */
  readonly holes?: 'told' | 'filled';
  /** Runs of zeros shorter than this, in bytes, may be written where that saves a write. */
  readonly shortHole?: number;
  /** Before the first write; `size` is that of the output in bytes, where it is known. */
  open(size: number | undefined): Promise<void>;
  hole?(offset: number, length: number): Promise<void>;
  close(): Promise<void>;
  abort(): Promise<void>;
}

/** A target that a coordinator has opened. */
export interface OpenTarget {
  target: CrateTarget;
  /** Whether pool workers write by themselves, each with a handle of its own. */
  shared: boolean;
  /** Replaces the file by what was written, where the target alone does not. */
  complete?(): Promise<void>;
  /** Gives up what was written; `complete` was not called. */
  abandon?(): Promise<void>;
  /** Where what is written is noted, so that a later conversion can go on with it. */
  journal?: StorageJournal | undefined;
}

/** A pool worker's own way to a target, which is open. */
export interface OpenHandle {
  handle: CrateHandle;
  close(): void;
}

export interface WorkerHost {
  /** To the one who started this worker. */
  readonly port: Port;
  /** A file as the crate takes it. */
  file(spec: FileSpec): Blob | ObjectSource;
  /** Opens a target for a conversion by pool workers, or by threads in this worker. */
  openTarget(spec: TargetSpec, poolWorkers: boolean): Promise<OpenTarget>;
  /** Browsers: whether the private file system takes a file of `size` bytes; `name` is one of a temporary file. */
  tryLength?(name: string, size: number): Promise<boolean>;
  openHandle(spec: TargetSpec): Promise<OpenHandle>;
}
