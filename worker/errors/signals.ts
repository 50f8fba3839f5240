// Cancelling, pausing and limiting the time of calls: signals that follow others, listeners of callers that throw, and loops that might
// otherwise run without a pause.

import { callListener, toDecantError } from './errors.js';

const followed = new WeakMap<AbortSignal, AbortSignal[]>();

/** Like `AbortSignal.any`, but keeps `signals` reachable: Node 20 may collect a time-out that nothing else references. */
export function anyOf(signals: AbortSignal[]): AbortSignal {
  const any = AbortSignal.any(signals);
  followed.set(any, signals);
  return any;
}

/** Lets timers and other events run. It is not a timer: browsers delay those in hidden tabs. */
export const nextTask = (): Promise<void> =>
  new Promise((resolve) => {
    // Node.
    if ('setImmediate' in globalThis) {
      setImmediate(resolve);
      return;
    }
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });

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

/** Resolves to whether `work` resolves. Never rejects. */
export const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/** Settles like `work`, or like a call of `late` after `time` milliseconds. */
export async function within<T, L>(time: number, work: Promise<T>, late: () => L): Promise<T | L> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waiting = new Promise<L>((resolve, reject) => {
    timer = setTimeout(() => {
      try {
        resolve(late());
      } catch (thrown) {
        reject(thrown);
      }
    }, time);
  });
  try {
    return await Promise.race([work, waiting]);
  } finally {
    clearTimeout(timer);
  }
}
