// The public types of custom sources and targets. All sizes and offsets are in bytes.

import type { HttpOptions, Waiting } from '../http/http-types.js';

/** Bytes in memory that is not shared. Before TypeScript 5.7, and so in this declaration, that cannot be written out. */
export type Bytes = ReturnType<Uint8ArrayConstructor['of']>;

/**
 * A custom source: an object that reads. Decant calls it in the thread that called `open`, never in a worker, until the image
 * is closed.
 */
export interface Source {
  /** The size in bytes: a whole number from 0 to 2^53-1. It must not change. */
  readonly size: number;
  /** The name of the image. Messages show it, and other images may refer to it. */
  readonly name?: string | undefined;
  /** Why a change of the bytes could go unnoticed, as a sentence. The result then has `sourceVerified: false`. */
  readonly unnoticed?: string | undefined;
  /**
   * Identifies these bytes: it differs for other bytes, and for another state of the same file. A conversion resumes only from
   * the same state, and fails with `source` if the state is different at the end. Without it, no conversion can be resumed.
   */
  readonly state?: string | undefined;
  /** The network traffic so far, if there is any. Progress reports it. */
  readonly network?: Network | undefined;
  /**
   * Resolves to exactly `length` bytes, starting at `offset`. The range is not empty and lies within `size`. Calls come in any
   * order. A conversion has at most 8 calls under way at once; each `map`, each `read` and each other conversion may have as
   * many.
   *
   * Decant takes the returned array. If it covers its whole buffer, the buffer is transferred to a worker; otherwise the bytes
   * are copied. A source that keeps its bytes must return a copy: `slice`, not `subarray`, since a small image may be read as a
   * whole.
   *
   * `signal` is aborted when the bytes are no longer needed; the result is then ignored. If the call throws, or returns another
   * number of bytes, the operation that needed the bytes fails with kind `source`. The thrown value is the `cause`.
   */
  read(offset: number, length: number, options: { signal: AbortSignal }): Promise<Uint8Array>;
  /**
   * Announces ranges that will be read, data or tables: each range once, by one `read` of exactly this range, in about this
   * order. At most 32 MiB of data for each conversion is announced and not yet read. A source may fetch announced ranges early;
   * they count towards `ConvertOptions.memory`. An empty list cancels all announcements; if one call is cancelled while others
   * read, the ranges that the others need are announced again. Without this method, Decant may read neighbouring ranges in one
   * call; with it, each range is read by its own call.
   */
  expect?(ranges: readonly { readonly offset: number; readonly length: number }[]): void;
  /**
   * Called after a conversion or a `readable` has read all its data, before the output is completed or the stream ends. If it
   * rejects, the operation fails with kind `source`: the bytes may come from different states of the file.
   */
  verify?(options: { signal: AbortSignal }): Promise<void>;
}

/**
 * A custom target: an object that writes. Decant calls it in the thread that called `convert`, never in a worker. In the end
 * either `close` resolves or `abort` is called. If a method throws, the conversion fails with kind `target`, and the thrown
 * value is the `cause`. If another conversion is writing to the same target, the new one fails with `usage` and calls no method.
 */
export interface Target {
  /**
   * Called once, before the first write. If `plan.identity` is given, it may resolve to a resume point: then only the rest is
   * written.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most targets return nothing
  open?(plan: TargetPlan): Promise<TargetResumePoint | void>;
  /** Writes `bytes`, at most 1 MiB, at `offset`. No byte of the output is written twice. The target may keep the array. */
  write(offset: number, bytes: Bytes): Promise<void>;
  /**
   * Reports that `length` bytes from `offset` are zeros. Zeros found in data are reported too, in blocks of 4 KiB. A large hole
   * comes in parts, about 1024 for a whole disk, so that progress is visible. Every byte of the output is either written or in a
   * hole. Without this method, holes are written as zeros.
   */
  hole?(offset: number, length: number): Promise<void>;
  /** Called once, after the last write. When it resolves, the output is complete. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most targets return nothing
  close(): Promise<TargetEnd | void>;
  /**
   * Discards the output. Called at most once, at any time: perhaps before `open`, perhaps while other calls are under way, but
   * never after `close` has resolved. A conversion waits for it for at most `abortTimeout`. If `keep` is true, a later conversion
   * may resume the output: a target that keeps it resolves to `true`. If it rejects with a `DecantError`, something could not be
   * removed: that message is appended to the reason for the failure.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most targets return nothing
  abort(reason: Error, keep?: boolean): Promise<boolean | void>;
  /** How long a conversion waits for `abort`, in seconds, at most 60. By default 0.2, or 10 if `keep` is true. */
  readonly abortTimeout?: number | undefined;
  /** Whether the target can resume an output when `resume` is set. Such a target must be `ascending`. */
  readonly resumes?: boolean | undefined;
  /** Whether writes and holes must come in ascending order. By default they come in any order. */
  readonly ascending?: boolean | undefined;
  /**
   * For an ascending target: how many bytes at the start of the output may be written last, after all others. By default 0. A
   * compressed qcow2 needs it for its header and L1 table, which depend on all data: then the first write follows these bytes.
   */
  readonly lateStart?: number | undefined;
  /**
   * How many writes and holes may be under way at once: 1 to 64. By default 1 for an ascending target, otherwise 4. Calls of an
   * ascending target start in order.
   */
  readonly concurrency?: number | undefined;
  /** The network traffic so far, if there is any. Progress reports it. */
  readonly network?: Network | undefined;
  /**
   * Returns the finished output, so that `verify` can read it and compare it with the disk; `undefined` if it cannot be read. Called
   * once after `close`, unless `close` resolved to `{ checked: true }`. The output of a target without this method cannot be verified.
   */
  readBack?(): ReadableOutput | undefined | Promise<ReadableOutput | undefined>;
  /**
   * Removes the finished output. Called once after `close`, if `verify` finds that the output differs from the disk. If it rejects with
   * a `DecantError`, the output stays: that message is appended to the reason for the failure.
   */
  remove?(): Promise<void>;
}

/** A finished output that can be read: a custom source, or a file on a server with the options of its requests. */
export type ReadableOutput =
  | Source
  | ({ url: string | URL } & Pick<HttpOptions, 'credentials' | 'fetch' | 'headers' | 'patience' | 'timeout'>);

/** Network traffic so far. */
export interface Network {
  /** Bytes of files received. */
  readonly received: number;
  /** Bytes of files sent. */
  readonly sent: number;
  /** The number of retried requests. */
  readonly retries: number;
  /** Seconds without traffic, if requests have failed since, or after 5 seconds; otherwise 0 or missing. */
  readonly silence?: number | undefined;
  /** The server that has been silent for 5 seconds; otherwise missing. */
  readonly waiting?: Waiting | undefined;
}

/** The argument of `Target.open`, which is called before the first write. */
export interface TargetPlan {
  /** The size of the guest's disk; missing if it is known only at the end. */
  readonly virtualSize?: number;
  /** The size of the output, holes included; missing if it is known only at the end. */
  readonly outputSize?: number;
  /** Whether writes and holes come in ascending order. */
  readonly ascending: boolean;
  /**
   * Given if `resume` is set: a string without secrets that is the same for the same output of the same images. Never resume
   * data of another identity.
   */
  readonly identity?: string;
  /** Whether the output is verified after `close`. */
  readonly verify?: boolean;
}

/** The end of an output. */
export interface TargetEnd {
  /**
   * Why the output may be incomplete at its destination, as a sentence. The result then has `confirmed: false` and a notice
   * `unconfirmed`.
   */
  unconfirmed?: string | undefined;
  /**
   * With `plan.verify`: whether checksums have shown that the destination has stored all bytes as they were written. Otherwise the
   * output is read back.
   */
  checked?: boolean | undefined;
}

/** The first bytes of an interrupted output: a conversion continues after them. */
export interface TargetResumePoint {
  /** How many bytes there are, holes included: a multiple of 4 KiB, at most the size of the disk. */
  offset: number;
  /** How many of them were written, holes left out. */
  written: number;
}
