// Progress listeners of callers, which may throw.

import { anyOf } from '../calls/signals.js';
import { toDecantError } from '../errors/errors.js';
import { callListener } from '../errors/listener-error.js';

/**
 * Runs `work` with a signal and a listener that never throws. If the caller's `listener` throws or rejects, the signal is
 * aborted, and `withListener` fails with `usage` and the thrown value as its cause.
 */
export async function withListener<T, R>(
  signal: AbortSignal | undefined,
  listener: (detail: T) => void,
  work: (signal: AbortSignal, listener: (detail: T) => void) => Promise<R>,
): Promise<R> {
  const failed = new AbortController();
  const either = signal ? anyOf([signal, failed.signal]) : failed.signal;
  const guarded = (detail: T) => {
    callListener(
      () => listener(detail),
      (thrown) => failed.abort(thrown),
    );
  };
  try {
    return await work(either, guarded);
  } catch (thrown) {
    throw failed.signal.aborted ? toDecantError(failed.signal.reason, 'usage', 'report progress') : thrown;
  }
}
