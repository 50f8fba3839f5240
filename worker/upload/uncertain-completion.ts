// Uploads that are given up when the request that completes the object has left: the server may carry it out, or has done so.

import { RequestRefused } from '../http/http-failures.js';
import { hasSize, isHtml, isOlder } from './confirmation.js';
import type { MakeCall, UploadRequests } from './upload-requests.js';

/** Whether the server will not complete the object. A success of another status may come from somebody in between. */
export const isRefusal = (thrown: unknown): boolean =>
  thrown instanceof RequestRefused && (thrown.status >= 400 || thrown.serverCode !== undefined);

export class CompletionTracker {
  /** Whether a request that completes the object has left and was not refused. */
  mayBeDone = false;

  /** What `ask`, which completes the object, resolves to. */
  async track<T>(ask: () => Promise<T>): Promise<T> {
    const before = this.mayBeDone;
    this.mayBeDone = true;
    try {
      return await ask();
    } catch (thrown) {
      if (isRefusal(thrown)) this.mayBeDone = before;
      throw thrown;
    }
  }
}

/** What tells the object of an upload from others. */
interface OwnObject {
  /** In bytes. */
  size: number;
  /** When the upload began, by the clock of `performance.now`. */
  since: number;
  /** Whether the object is the upload's by its headers. */
  isOurs?: (headers: Headers) => boolean;
}

/**
 * Asks by HEAD, after `stop`, whether the object is there. Fails with `object-completed` where it is, or where nobody knows. An
 * object from before the upload does not count.
 */
export async function requireAbsent(
  requests: UploadRequests,
  head: MakeCall,
  { size, since, isOurs = () => false }: OwnObject,
): Promise<void> {
  const look = await requests.lookAfterStop(head);
  if (look === 'missing') return;
  if ('refusal' in look) throw requests.completedBefore(look.refusal);
  const { headers } = look;
  if (isHtml(headers)) throw requests.completedBefore('a web page was the answer to HEAD');
  const isBefore = isOlder(headers, since);
  if (isBefore) return;
  const isIt = isOurs(headers) || (isBefore === false && hasSize(headers, size) === true);
  throw requests.completedBefore(
    isIt ? undefined : 'nothing shows whether the object that is there is from this upload',
  );
}
