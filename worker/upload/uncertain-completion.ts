// Uploads that end after the request to complete the object was sent: the server may have completed it.

import { RequestRefused } from '../http/http-failures.js';
import { hasSize, isHtml, isOlder } from './confirmation.js';
import type { MakeCall, UploadRequests } from './upload-requests.js';

/** Whether the server refused to complete the object. An unexpected success may come from a gateway. */
export const isRefusal = (thrown: unknown): boolean =>
  thrown instanceof RequestRefused && (thrown.status >= 400 || thrown.serverCode !== undefined);

export class CompletionTracker {
  /** Whether a request to complete the object was sent and not refused. */
  mayBeDone = false;

  /** Runs `ask`, which completes the object. */
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

/** Identifies the object of an upload. */
interface OwnObject {
  /** In bytes. */
  size: number;
  /** When the upload began, by `performance.now()`. */
  since: number;
  /** Whether the headers are those of the upload's object. */
  isOurs?: (headers: Headers) => boolean;
}

/**
 * Checks by HEAD, after `stop`, that the object does not exist. Fails with `object-completed` if it does, or if that is unknown.
 * An object older than the upload does not count.
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
  if (isHtml(headers)) throw requests.completedBefore('the response to HEAD was a web page');
  const isBefore = isOlder(headers, since);
  if (isBefore) return;
  const isIt = isOurs(headers) || (isBefore === false && hasSize(headers, size) === true);
  throw requests.completedBefore(isIt ? undefined : 'an object exists, but it may be from another upload');
}
