// The progress of a call as one number: from 0 to 1 over all that the call does, never falling, 1 only at its end.

import { callListener } from '../errors/errors.js';
import type { Phase, Progress } from '../public/types.js';

export type ProgressListener = (progress: Progress) => unknown;

/** The end of a call, after its last pass over a disk or file: it may take a moment. */
const END = 0.01;
/** The weight of an unlocking. That of a pass over the disk is 1. */
export const UNLOCKING = 0.05;

/**
 * Calls `work` with a listener that passes its reports on to `listener`, whose `fraction` never falls and is below 1. When `work` has
 * ended, reports 1, if it has reported anything.
 */
export async function withProgress<T>(
  listener: ProgressListener | undefined,
  work: (report: ProgressListener) => Promise<T>,
): Promise<T> {
  if (!listener) return work(() => {});
  let last: Progress | undefined;
  const result = await work((progress) => {
    const fraction =
      progress.fraction === undefined
        ? last?.fraction
        : Math.max(last?.fraction ?? 0, Math.min(1, progress.fraction) * (1 - END));
    last = { ...progress, ...(fraction !== undefined && { fraction }) };
    return listener(last);
  });
  if (!last) return result;
  const { secondsLeft: _, ...ended }: Progress = last;
  // The work is done, so an error of the listener is ignored.
  callListener(
    () => listener({ ...ended, fraction: 1 }),
    () => {},
  );
  return result;
}

/** Joins the runs of a call, each of which reports a fraction from 0 to 1. */
export class Runs {
  #start = 0;

  constructor(private readonly listener: ProgressListener) {}

  /** The listener of the next run, after which `left` others of the same weight follow. */
  next(left: number): ProgressListener {
    const from = this.#start;
    const share = (1 - from) / (1 + left);
    this.#start += share;
    return ({ secondsLeft, ...progress }) => {
      const { fraction } = progress;
      if (fraction === undefined) return this.listener(progress);
      const whole = from + share * fraction;
      // Assumes that the other runs have the same speed.
      const seconds = secondsLeft !== undefined && fraction < 1 && (secondsLeft / (1 - fraction) / share) * (1 - whole);
      return this.listener({
        ...progress,
        fraction: whole,
        ...(typeof seconds === 'number' && { secondsLeft: seconds }),
      });
    };
  }

  /** The listener for the share of an unlocking, if there is one: it is not known before. */
  unlocking(): (share: number) => void {
    let listener: ProgressListener | undefined;
    return (share) => {
      listener ??= this.next(1 / UNLOCKING);
      listener({ phase: 'unlocking', fraction: share, unlocked: share });
    };
  }
}

/** A listener of a conversion that stands for another work: its phase `converting` is `phase`. */
export const asPhase =
  (phase: Phase, listener: ProgressListener): ProgressListener =>
  (progress) =>
    listener(progress.phase === 'converting' ? { ...progress, phase } : progress);
