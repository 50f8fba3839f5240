// The service worker that streams downloads, as the page asks for it.

import { language } from '../languages.js';
import { type Ask, DOWNLOADS, VERSION } from '../service-worker/page-messages.js';

/** The time-out for a service worker to become active or to answer, in milliseconds. */
export const ANSWER_TIMEOUT = 5000;

/** Waits for `promise`. Rejects with `reason` after `milliseconds`. */
export const inTime = <T>(promise: Promise<T>, milliseconds: number, reason: string): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(reason)), milliseconds);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });

const aborted = () => new DOMException('The download was cancelled before it began.', 'AbortError');

/** Waits for `work`. When `signal` is aborted, calls `stop` with an `AbortError` and rejects with it. */
export const unlessAborted = <T>(
  signal: AbortSignal | undefined,
  work: Promise<T>,
  stop: (reason: Error) => void = () => {},
): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = () => {
      const reason = aborted();
      stop(reason);
      reject(reason);
    };
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort);
    work.then(resolve, reject).finally(() => signal?.removeEventListener('abort', abort));
  });

/** Asks the service worker. Never settles without an answer. */
export function ask<T>(worker: ServiceWorker, question: Ask): Promise<T> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = ({ data }) => {
      resolve(data);
      port1.close();
    };
    worker.postMessage(question, [port2]);
  });
}

/**
 * Finds the service worker and the base URL of downloads. Rejects with one of the page's `reasons` if streaming is not possible.
 */
export async function findWorker(): Promise<{ worker: ServiceWorker; base: string }> {
  if (!isSecureContext) throw new Error(language().reasons.insecure);
  if (!navigator.serviceWorker) throw new Error(language().reasons.none);
  const { active, scope } = await inTime(navigator.serviceWorker.ready, ANSWER_TIMEOUT, language().reasons.notReady);
  const version = await inTime(ask<number>(active!, { ask: 'version' }), ANSWER_TIMEOUT, language().reasons.notReady);
  if (version !== VERSION) throw new Error(language().reasons.otherVersion);
  return { worker: active!, base: new URL(DOWNLOADS, scope).href };
}

/** Resolves to the reason why downloads cannot be streamed, for use after a colon, or to `undefined`. Takes at most 10 s. */
export const streamObstacle = (): Promise<string | undefined> =>
  findWorker().then(
    () => undefined,
    ({ message }: Error) => message,
  );
