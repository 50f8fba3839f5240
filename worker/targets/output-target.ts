// The contracts of targets and of temporary files. The calling side prepares a target and completes or discards it, a coordinator
// writes to it. A temporary file is sent to a target afterwards, or has the content of a packed image.

import { DecantError } from '../errors/errors.js';
import type { Converted } from '../messages/coordinator.js';
import type { TargetSpec } from '../messages/messages.js';
import type { Network, Notice, ReadableOutput, SavedProgress } from '../public/types.js';
import type { OpenedSource } from '../sources/opened-source.js';

/** The sizes of a conversion, in bytes. */
export interface Sizes {
  /** The size of the disk; undefined if it is known only at the end. */
  virtualSize: number | undefined;
  /** The size of the output; undefined if it is known only at the end. */
  outputSize: number | undefined;
  /** Whether readers look for a footer at the end of the file. */
  hasFooter?: boolean;
}

/** The sizes of a finished conversion, in bytes. */
export interface FinalSizes {
  virtualSize: number;
  outputSize: number;
}

/** A point from which a conversion can resume. */
export interface ResumePoint {
  /** The disk is written up to this guest offset. */
  guest: number;
  /** The bytes that were written for it, without holes. */
  written: number;
}

/** Opens the output of a custom target, to be read back. */
export type OpenReadable = (output: ReadableOutput) => Promise<OpenedSource>;

export interface OutputTarget {
  /**
   * Creates or opens the output. `signal` cancels questions to a person. With an `identity`, which identifies this conversion,
   * the target saves progress if the conversion ends early, and resumes saved progress of an earlier one. Resolves to `undefined` if only
   * guest sums are wanted.
   */
  prepare(sizes: Sizes, signal: AbortSignal, identity?: string): Promise<TargetSpec | undefined>;
  /** How guest sums are computed, if the target wants them. */
  readonly summing?: { seed: Uint8Array; ranges?: Float64Array | undefined };
  /** Takes the sums. Called before `commit`. */
  summed?(converted: Converted): void;
  /** Whether the size of the output must be known before it is opened. Fails as `prepare` does. */
  needsSize?(): Promise<boolean>;
  /** Whether it can resume saved progress. */
  readonly resumes?: boolean;
  /** The saved progress of the conversion `identity`. Missing if only a server knows it. */
  savedProgress?(identity: string): Promise<SavedProgress>;
  /** After `prepare`: the point from which this conversion resumes. */
  readonly resumePoint?: ResumePoint | undefined;
  /** Reports that the output is written up to `resumePoint`. */
  settled?(resumePoint: ResumePoint): void;
  /** Fails if the output would replace a file that has changed since `prepare`. Called before `commit`. */
  verify?(): Promise<void>;
  /**
   * Sends the finished output to its destination, if it was written to a temporary file first. Called before `commit`. Reports
   * how many bytes have been sent. Resolves to how many were written, without holes.
   */
  send?(sizes: FinalSizes, signal: AbortSignal, report: (sent: number) => void): Promise<number>;
  /** Checks that the output has `size` bytes, and makes it appear under its name. After that, a cancel is too late. */
  commit(size: number, signal: AbortSignal): Promise<void>;
  /**
   * Whether the finished output is read back before `commit`, while it has no name yet, or only after it. Missing if it cannot be read
   * back.
   */
  readonly readsBack?: 'before' | 'after' | undefined;
  /**
   * The finished output of `size` bytes, to be read back; `undefined` if checksums have shown that all bytes are stored. Custom outputs
   * are opened by `open`.
   */
  readBack?(size: number, open: OpenReadable): Promise<OpenedSource | undefined>;
  /**
   * Removes the output after `commit`, since it is wrong (`isWrong`), or since its verification was cancelled. Fails with a `DecantError`
   * that names what stays.
   */
  remove?(isWrong: boolean): Promise<void>;
  /**
   * Removes everything that `prepare` created, and nothing else; also after a failure of `commit`. Fails with a `DecantError`
   * that names what stays. If `keep` is true, progress that can be resumed stays.
   */
  discard(reason: DecantError, keep: boolean): Promise<void>;
  /** After `prepare`: whether all blocks of the output are allocated, written or not. */
  readonly isAllocated?: boolean;
  /** After `commit`: a copy of the output that can be read for a while. */
  readonly copy?: Blob | undefined;
  /** After `commit`: when the copy is removed. */
  readonly copyExpires?: Date | undefined;
  /** After the last write: the SHA-256 of the output, if it was wanted and all bytes have passed in ascending order. */
  readonly sha256?: string | undefined;
  /** The failure of the target itself, if it says more than its consequences. */
  readonly failure?: DecantError | undefined;
  /** Returns a clearer error for `reason`, or `reason`. */
  explain?(reason: DecantError): DecantError;
  /** After `commit`: notices about the output. */
  readonly notices?: readonly Notice[];
  /** After `commit`: `false` if the target could not confirm that the output is complete. */
  readonly isConfirmed?: boolean;
  /** The network traffic so far, if there is any. */
  readonly network?: Network | undefined;
}

/** The error of `discard` if progress was saved. */
export const resumableError = (): DecantError =>
  new DecantError('target', 'progress was saved; run again with resume to continue', { fields: { resumable: true } });

/** The error of `discard` if a temporary file of `bytes` in the browser's storage cannot be removed yet. */
export const busyError = (bytes: number): DecantError =>
  new DecantError('target', "a temporary file is still in the browser's storage, which removes it later", {
    code: 'storage-busy',
    fields: { stored: bytes },
  });

/** Throws `target` unless the size of the finished output, `found`, is `size`. */
export function requireSize(found: number, size: number, output = 'the output'): void {
  if (found === size) return;
  throw new DecantError(
    'target',
    `Could not write ${output}: it has ${found} bytes instead of ${size}; the storage may be full`,
  );
}

/** Reads exactly `length` bytes of a temporary file. */
export type ReadSpool = (offset: number, length: number) => Promise<Uint8Array<ArrayBuffer>>;

/** A temporary file: of an output that is sent afterwards, or of the content of a packed image. */
export interface Spool {
  /** Creates the file. Fails with `spool-full` if content of known size certainly has no room. */
  prepare(sizes: Sizes, signal: AbortSignal): Promise<TargetSpec>;
  /** Resolves to a reader of the finished file. Fails unless the file has `size` bytes. */
  whole(size: number): Promise<ReadSpool>;
  /** The finished file as a source; `close` removes it, now or later. Fails unless the file has `size` bytes. */
  source(size: number): Promise<OpenedSource>;
  /** The error `spool-full` in place of `reason`. */
  full(reason: DecantError): DecantError;
  /** Removes the file, if it exists. Fails with a `DecantError` that names what stays, unless it is removed later. */
  remove(): Promise<void>;
}

/** The codes of errors for storage that takes no more bytes. */
const FULL = ['disk-full', 'file-too-large', 'storage-full'];

/** Returns the error `spool-full` if `reason` is that the storage of `spool` is full, otherwise `reason`. */
export const explainFull = (spool: Spool, reason: DecantError): DecantError =>
  FULL.includes(reason.code) ? spool.full(reason) : reason;

/** The error for `spool` with an output that takes bytes in any order. */
export const needless = (): DecantError =>
  new DecantError(
    'usage',
    "A temporary file ('spool') is only for outputs that take bytes in ascending order, such as streams; omit it",
  );
