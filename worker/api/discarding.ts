// Discards the output of a failed conversion, or keeps it so that a later conversion can resume.

import type { ImageSetup } from '../client-side/image-session.js';
import { cancelled, DecantError, type ErrorKind, toDecantError } from '../errors/errors.js';
import { anyOf, succeeds, withListener } from '../errors/signals.js';
import type { SettledOptions } from '../public/caller-types.js';
import type { ConvertResult, Progress } from '../public/types.js';
import type { OutputTarget } from '../targets/output-target.js';
import { type ConversionContext, disksOf } from './conversion-disks.js';
import type { RunOptions } from './options.js';
import { isWrongOutput } from './read-back.js';

/** After these failures, a later conversion can resume. */
const RESUMABLE: ErrorKind[] = ['cancelled', 'source', 'target', 'password', 'missing-file', 'usage', 'internal'];

/** Calls `work`, which converts into `target`, with the options of the run. If it fails, discards the output. */
export async function orDiscarded(
  target: OutputTarget,
  conversion: ConversionContext,
  options: SettledOptions,
  work: (options: RunOptions) => Promise<ConvertResult>,
): Promise<ConvertResult> {
  const unreadable = new AbortController();
  // Called by timers, too, whose errors nobody catches.
  const networks = () => {
    try {
      const ofSources = disksOf(conversion).flatMap(({ setup }) => setup.sources.networks);
      return [...ofSources, ...(target.network ? [target.network] : [])];
    } catch (thrown) {
      unreadable.abort(thrown);
      return [];
    }
  };
  try {
    const onProgress = (progress: Progress) => options.onProgress?.(progress);
    const signal = options.signal ? anyOf([options.signal, unreadable.signal]) : unreadable.signal;
    return await withListener(signal, onProgress, async (signal, onProgress) => {
      if (signal.aborted) throw cancelled();
      return work({ ...options, signal, onProgress, networks });
    });
  } catch (thrown) {
    const cause = toDecantError(unreadable.signal.aborted ? unreadable.signal.reason : thrown);
    throw await discarded(target, conversion.setup, options, cause);
  }
}

/** Resolves to the result of `work` on an output that has its name. If the output is found wrong, or after a cancel, it is removed. */
export async function orRemoved<T>(target: OutputTarget, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    const error = toDecantError(thrown);
    const isWrong = isWrongOutput(error);
    if (!isWrong && error.kind !== 'cancelled') throw error;
    const left: unknown = await target.remove?.(isWrong).catch((thrown) => thrown);
    throw left instanceof DecantError ? withLeftover(error, left) : error;
  }
}

/** Discards the output of a conversion that failed with `cause`. Resolves to the error to report, which names what is left. */
async function discarded(
  target: OutputTarget,
  { sources }: ImageSetup,
  { resume, signal }: SettledOptions,
  cause: DecantError,
): Promise<DecantError> {
  const reason = target.explain?.(cause) ?? cause;
  const error = reason.kind === 'cancelled' ? cancelled('The conversion', signal) : (target.failure ?? reason);
  const isWrong = isWrongOutput(error);
  const keep = resume === true && RESUMABLE.includes(error.kind) && !isWrong && (await succeeds(sources.verify()));
  const left: unknown = await target.discard(error, keep).catch((thrown) => thrown);
  return left instanceof DecantError ? withLeftover(error, left) : error;
}

/** Adds what is left of the output to `error`, after the reason for the failure. */
function withLeftover(error: DecantError, left: DecantError): DecantError {
  const { kind, code, message } = error;
  const fields = { ...error.fields, ...left.fields, reason: message, left: left.message };
  const ofError = error.cause === undefined ? {} : { cause: error.cause };
  return new DecantError(kind, `${message}; ${left.message}`, { code, fields, ...ofError });
}
