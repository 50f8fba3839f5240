// The public types of what a caller may bring along: sources and targets of its own. All sizes and offsets are in bytes.

import type { Waiting } from '../http/types.js';

/** Bytes in memory that is not shared. Before TypeScript 5.7, and so in this declaration, that cannot be written out. */
export type Bytes = ReturnType<Uint8ArrayConstructor['of']>;

/**
 * A source of the caller's own: an object that reads. Decant calls it in the thread in which `open` was called, never
 * in a worker, until the image is closed.
 */
export interface Source {
  /** The size in bytes: a whole number from 0 to 2^53-1. It must not change. */
  readonly size: number;
  /** The name of the image. Messages show it, and another image may refer to it. */
  readonly name?: string;
  /** Why a change of the bytes meanwhile could go unnoticed, as a sentence: the result then has `verified: false`. */
  readonly unnoticed?: string | undefined;
  /**
   * What tells these bytes from others, also from another state of the same file: a conversion is resumed only from bytes
   * of the same state, and fails with `source` where it is another one at the end. Without it none is resumed.
   */
  readonly state?: string | undefined;
  /** What has gone over a network so far, if anything does: progress tells of it. */
  readonly network?: Network;
  /**
   * Resolves to exactly `length` bytes, from `offset` on. The range is not empty and lies within `size`. Calls come in
   * any order. A conversion has at most 8 calls under way at once; each `map`, each `read` and each other conversion
   * has its own besides.
   *
   * The array is given away. If it is all of its buffer, the buffer is transferred to a worker; otherwise the bytes
   * are copied. A source that keeps its bytes must return a copy of them: `slice`, not `subarray`, since a small image
   * may be read as a whole.
   *
   * `signal` is aborted when the bytes are no longer needed; the result is ignored from then on. If the call throws,
   * or returns another number of bytes, the operation that needed the bytes fails with kind `source`. What was thrown
   * is the `cause`.
   */
  read(offset: number, length: number, options: { signal: AbortSignal }): Promise<Uint8Array>;
  /**
   * Says what will be read, the data of a conversion or tables: each range once, by one `read` of exactly this range, in
   * about this order. What is told and not read yet has at most 32 MiB of data for each conversion. A source may fetch it
   * before: then it counts as a part of `ConvertOptions.memory`. An empty list says that nothing of what was told is needed
   * any more; if a call is cancelled while others read, what those need is told anew after it. Without this method
   * neighbouring ranges are read in one call where that saves calls; with it they are read by themselves.
   */
  expect?(ranges: readonly { readonly offset: number; readonly length: number }[]): void;
  /**
   * Called when a conversion or a `readable` has read all that it needs, before the output is completed or the stream ends.
   * What it fails with is told as `source`: the bytes may be of more than one state of the file.
   */
  verify?(options: { signal: AbortSignal }): Promise<void>;
}

/**
 * A target of the caller's own: an object that writes. Decant calls it in the thread in which `convert` was called,
 * never in a worker. In the end either `close` resolves or `abort` is called. If a method throws, the conversion fails
 * with kind `target`; what was thrown is the `cause`. A conversion that is given the target of another one under way fails
 * with `usage`, and calls none of them.
 */
export interface Target {
  /**
   * Called once, before the first write. If `plan.identity` is given, it may resolve to what is there of the output: then
   * writes and holes follow for the rest only.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most targets return nothing
  open?(plan: TargetPlan): Promise<TargetBegun | void>;
  /**
   * Writes `bytes`, at most 1 MiB, at `offset`. No byte of the output is written twice. The array is the target's own:
   * it may keep it.
   */
  write(offset: number, bytes: Bytes): Promise<void>;
  /**
   * Says that `length` bytes from `offset` on are zeros. Zeros that were found in data are holes too, in blocks of 4
   * KiB. A large hole comes in parts, about 1024 for a whole disk: progress counts each one when it is handed over. Every
   * byte of the output is either written or in a hole. Without this method, holes are written as zeros.
   */
  hole?(offset: number, length: number): Promise<void>;
  /** Called once, after the last write. When it resolves, the output is complete. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most targets return nothing
  close(): Promise<TargetEnd | void>;
  /**
   * Discards what was written. Called at most once, at any time: perhaps before `open`, perhaps while other calls are
   * under way, but never after `close` has resolved. A conversion waits for it for at most `abortTimeout`. If `keep` is true, a
   * later conversion may go on with what was written: a target that keeps it resolves to `true`. If it rejects with a
   * `DecantError`, something could not be removed: its message follows the reason why the conversion failed.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most targets return nothing
  abort(reason: Error, keep?: boolean): Promise<boolean | void>;
  /** How long a conversion waits for `abort`, in seconds, at most 60: by default 0.2, and 10 where `keep` is true. */
  readonly abortTimeout?: number;
  /** Whether it can go on with an output that was cut off, if that is asked for with `resume`. It must be `ordered`. */
  readonly resumes?: boolean;
  /** Whether writes and holes must come in ascending order. By default they come in any order. */
  readonly ordered?: boolean;
  /**
   * How many writes and holes may be under way at once: 1 to 64. By default 1 for an ordered target, otherwise 4.
   * Those of an ordered target begin in order.
   */
  readonly concurrency?: number;
  /** What has gone over a network so far, if anything does: progress tells of it. */
  readonly network?: Network;
}

/** What has gone over a network so far. */
export interface Network {
  /** How many bytes of files have come. */
  readonly received: number;
  /** How many bytes of files were sent. */
  readonly sent: number;
  /** How many requests were made again. */
  readonly retries: number;
  /** For how many seconds nothing has come or gone, where requests have failed since, or from 5 on; otherwise 0 or missing. */
  readonly silence?: number;
  /** The server that is waited for, where nothing has come or gone for 5 seconds; otherwise missing. */
  readonly waiting?: Waiting | undefined;
}

/** What a target is told before the first write. */
export interface TargetPlan {
  /** The size of the disk that the guest sees; missing if it is known only at the end. */
  virtualSize?: number;
  /** The size of the output, holes included; missing if it is known only at the end. */
  outputSize?: number;
  /** Whether writes and holes come in ascending order. */
  ascending: boolean;
  /**
   * Given where `resume` is asked for: a word without secrets that is the same for the same output of the same images. What
   * was kept for another one must not be gone on with.
   */
  identity?: string;
}

/** How an output ended. */
export interface TargetEnd {
  /**
   * Why it is not certain that the output is complete where it went, as a sentence: then the result has `confirmed: false`
   * and a notice `unconfirmed`.
   */
  unconfirmed?: string;
}

/** What is there of an output that was cut off: its first bytes. */
export interface TargetBegun {
  /** How many bytes, holes included: a multiple of 4 KiB, and no more than the disk has. */
  offset: number;
  /** How many of them were written, holes left out. */
  written: number;
}
