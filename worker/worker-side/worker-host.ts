// The differences between browsers and Node inside a worker.

import type { FileSpec, TargetSpec } from '../messages/messages.js';
import type { Port } from '../messages/rpc.js';
import type { Hash } from './disk-hasher.js';
import type { StorageJournal } from './storage-journal.js';

/** A pool worker's access to a target, as the crate takes it (`crate/src/js/workers/targets.rs`). */
type CrateHandle = { handle: FileSystemSyncAccessHandle } | { object: ObjectHandle };

/** A target as the crate takes it (`crate/src/js/workers/targets.rs`). */
export type CrateTarget =
  | { writable: FileSystemWritableFileStream }
  | { handle: FileSystemSyncAccessHandle }
  | { object: ObjectTarget };

/** A source that is an object. `read` fills `bytes` before it returns. It may return a promise to yield to the event loop. */
export interface ObjectSource {
  readonly size: number;
  read(offset: number, bytes: Uint8Array): Promise<void> | undefined;
}

/** A source whose ranges arrive in pieces. */
export interface RangedSource {
  readonly size: number;
  /** Begins to read a range of the source. */
  begin(offset: number, length: number): RangeReader;
  /** Frees what it holds between ranges. */
  close?(): void;
}

/** A range that is being read. */
export interface RangeReader {
  /** Resolves to the next bytes, which are valid until the next call. Called until all bytes have arrived. */
  next(): Promise<Uint8Array<ArrayBuffer>>;
  /** Ends the reading, even if bytes are left, and frees what it holds. */
  end(): void;
}

/** A custom source, whose bytes come from the calling side. */
export interface CustomSource extends RangedSource {
  /** Ranges at most this many bytes apart are read as one. */
  readonly gap: number;
  /** The smallest read, in bytes, that is worth a call. */
  readonly minRead: number;
  /** The maximum number of reads at once. */
  readonly readsAtOnce: number;
  /** Whether reads are announced. */
  readonly expects: boolean;
  /** Announces reads of `reader`: `[offset, length, offset, length, ...]`. Empty when the reader has ended. */
  expect(reader: number, ranges: Float64Array): void;
}

/** A custom stream. `next` resolves to the next `length` bytes, or to the rest if fewer are left. */
export interface CustomStream {
  next(length: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** An open target. `write` may use `bytes` only until it returns, or until its promise settles. */
interface ObjectHandle {
  write(offset: number, bytes: Uint8Array): Promise<void> | undefined;
}

/**
 * A target that is an object, with the contract of the crate's `Target` (`crate/src/io/target.rs`). `hole` is called only if
 * `holes` is set.
 */
export interface ObjectTarget extends ObjectHandle {
  /** Whether writes and holes must come in ascending order, one at a time. */
  readonly ascending?: boolean;
  /** How many bytes at the start of an output with ascending writes may be written last. */
  readonly lateStart?: number;
  /** Holes are reported to it (`reported`) or written by it as zeros (`filled`). By default, unwritten ranges read as zeros. */
  readonly holes?: 'reported' | 'filled';
  /** Holes shorter than this, in bytes, may be written as zeros together with the data around them, to save a write. */
  readonly shortHole?: number;
  /** Called before the first write. `size`: the size of the output in bytes, if it is known. */
  open(size: number | undefined): Promise<void>;
  hole?(offset: number, length: number): Promise<void>;
  /** Resolves when all writes so far are done; an object that does one write at a time needs none. */
  settle?(): Promise<void>;
  close(): Promise<void>;
  abort(): Promise<void>;
}

/** A target that a coordinator has opened. */
export interface OpenTarget {
  target: CrateTarget;
  /** Whether pool workers write by themselves, each with its own handle. */
  shared: boolean;
  /** Replaces the file by the written output, if closing the target does not do that. */
  complete?(): Promise<void>;
  /** Discards the written output, instead of `complete`. */
  abandon?(): Promise<void>;
  /** The journal, if a later conversion can resume the output. */
  journal?: StorageJournal | undefined;
}

/** A pool worker's open access to a target. */
export interface OpenHandle {
  handle: CrateHandle;
  close(): void;
}

export interface WorkerHost {
  /** The port to the owner of this worker. */
  readonly port: Port;
  /** How many jobs in a row a worker gets: their ranges follow each other in the file. */
  readonly jobsInRow: number;
  /** A file as the crate takes it; with `inRow`, for jobs in a row. */
  file(spec: FileSpec, inRow: boolean): RangedSource | ObjectSource;
  openTarget(spec: TargetSpec): Promise<OpenTarget>;
  /** Browsers: whether private storage has room for `size` bytes. Tries it with the temporary file `name`. */
  tryLength?(name: string, size: number): Promise<boolean>;
  openHandle(spec: TargetSpec): Promise<OpenHandle>;
  /** Resolves to a function that begins a SHA-256. `load` loads the wasm that has it where the platform has none. */
  sha256(load: () => Promise<Uint8Array>): Promise<() => Hash>;
}

/** The object of a conversion without a target. */
export const nowhere: ObjectTarget = {
  write: () => undefined,
  open: async () => {},
  close: async () => {},
  abort: async () => {},
};
