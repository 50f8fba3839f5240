// A target: how a conversion becomes a file. The calling side makes the place and completes or
// discards it; a coordinator writes to it.

import { DecantError } from '../errors/errors.js';
import type { TargetSpec } from '../messages/messages.js';
import type { Kept, Network, Notice } from '../public/types.js';

/** In bytes. */
export interface Sizes {
  /** Of the disk; undefined where only its end tells. */
  virtualSize: number | undefined;
  /** Undefined where it is known at the end only. */
  outputSize: number | undefined;
  /** Whether readers look for the end of the output at the end of its file. */
  hasFooter?: boolean;
}

/** What of an output is there: all of the disk up to an offset, and how many bytes were written for it. */
export interface ResumePoint {
  guest: number;
  written: number;
}

export interface OutputTarget {
  /**
   * Makes the place for the output. What it waits for that a person answers, `signal` ends. With an `identity`, which tells
   * this conversion from all others, it keeps what is done where the conversion ends early, and goes on with what is kept of
   * an earlier one.
   */
  prepare(sizes: Sizes, signal: AbortSignal, identity?: string): Promise<TargetSpec>;
  /** Whether it can go on with what is kept. */
  readonly resumes?: boolean;
  /** What a conversion `identity` would go on with. Missing where only the other side of a network knows. */
  kept?(identity: string): Promise<Kept>;
  /** What of the output is there already. */
  readonly resumePoint?: ResumePoint | undefined;
  /** So much of the output is written. */
  settled?(resumePoint: ResumePoint): void;
  /** Fails where what was written would replace what somebody else has written since `prepare`. Called before it may appear. */
  verify?(): Promise<void>;
  /** Checks that what was written has `size` bytes, and makes it appear under its name. From then on a cancel is too late. */
  commit(size: number, signal: AbortSignal): Promise<void>;
  /**
   * Removes everything that `prepare` made, and nothing else; also after a failure of `commit`. Fails with a `DecantError`
   * that names what stays, unless that is removed later. If `keep` is true, what a later conversion can go on with stays.
   */
  discard(reason: DecantError, keep: boolean): Promise<void>;
  /** What the target itself has failed with, where that says more than what came of it. */
  readonly failure?: DecantError | undefined;
  /** What a person should know of an output that was committed. */
  readonly notices?: readonly Notice[];
  /** After `commit`: `false` where nobody could confirm that the output is complete where it went. */
  readonly isConfirmed?: boolean;
  /** What has gone over a network so far, if anything does. */
  readonly network?: Network | undefined;
}

/** The error of `discard` where progress is saved. */
export const keptError = (): DecantError =>
  new DecantError('target', 'what is done is kept: convert again with resume to go on', { fields: { kept: true } });

/** Fails with `target` unless the finished `output` has the `size` that was written. */
export function requireSize(found: number, size: number, output = 'the output'): void {
  if (found === size) return;
  throw new DecantError(
    'target',
    `Could not write ${output}: it has ${found} bytes and not the ${size} that it should have; the disk or the browser's storage may be full`,
  );
}
