// Uploads that end after the request to complete the object was sent: the server may have completed it.

import { isUnconnected, RequestRefused, TransientFailure } from '../http/http-failures.js';
import { ForbiddenRequest } from '../http/policy-reports.js';
import { hasSize, isHtml, isOlder } from './confirmation.js';
import { completedAt, mayAppearAt } from './upload-errors.js';
import type { MakeCall, UploadRequests } from './upload-requests.js';

/** Whether the server refused to complete the object, or was not asked. An unexpected success may come from a gateway. */
export const isRefusal = (thrown: unknown): boolean =>
  (thrown instanceof RequestRefused && (thrown.status >= 400 || thrown.serverCode !== undefined)) ||
  (thrown instanceof ForbiddenRequest && !thrown.isSent) ||
  isUnconnected(thrown);

/** Request Timeout */
const REQUEST_TIMEOUT = 408;

/** Why the server may still complete the object after a request that failed with `thrown`; `undefined` if it will not. */
export function lateCompletion(thrown: unknown): string | undefined {
  // Without a host, nothing was sent. With a code, the server itself has answered.
  if (!(thrown instanceof TransientFailure) || thrown.host === undefined || thrown.serverCode !== undefined)
    return undefined;
  if (isUnconnected(thrown)) return undefined;
  const { status } = thrown;
  if (status === undefined) return 'it had not answered';
  const mayBeProxy = status >= 500 || status === REQUEST_TIMEOUT;
  return mayBeProxy ? `the only response was ${status}, perhaps from a proxy` : undefined;
}

export class CompletionTracker {
  /** Whether a request to complete the object was sent and not refused. */
  mayBeDone = false;
  /** Why the object may still appear, if the request had no final response. */
  lateCompletion: string | undefined;
  /** The request in flight. */
  pending: Promise<unknown> | undefined;

  /** Runs `ask`, which completes the object. */
  async track<T>(ask: () => Promise<T>): Promise<T> {
    const before = this.mayBeDone;
    this.mayBeDone = true;
    try {
      const asking = ask();
      this.pending = asking;
      const answer = await asking;
      this.lateCompletion = undefined;
      return answer;
    } catch (thrown) {
      if (isRefusal(thrown)) this.mayBeDone = before;
      this.lateCompletion = lateCompletion(thrown) ?? this.lateCompletion;
      throw thrown;
    } finally {
      this.pending = undefined;
    }
  }
}

/** Identifies the object of an upload. */
interface OwnObject {
  /** In bytes. */
  size: number;
  /** When the upload began, by `performance.now()`; missing if an earlier conversion began it. */
  since?: number | undefined;
  /** Whether the headers are those of the upload's object; `undefined` if they do not say. */
  isOurs?: (headers: Headers) => boolean | undefined;
  /** Knows whether the object may still appear. */
  completing: Pick<CompletionTracker, 'lateCompletion'>;
}

/**
 * Checks by HEAD, after `stop`, that the object does not exist. Fails with `object-completed` if it does, if that is unknown, or
 * if the object may still appear. An object older than the upload does not count.
 */
export async function requireAbsent(
  requests: UploadRequests,
  head: MakeCall,
  { size, since, completing, isOurs = () => undefined }: OwnObject,
): Promise<void> {
  const look = await requests.lookAfterStop(head);
  if ('missing' in look) return requireSettled(requests, completing.lateCompletion);
  if ('refusal' in look) throw completedAt(requests.shownAddress, look.refusal);
  const { headers } = look;
  if (isHtml(headers)) throw completedAt(requests.shownAddress, 'the response to HEAD was a web page');
  // First: S3 dates an object by the start of its upload, which may have been resumed.
  const isKnown = isOurs(headers);
  if (isKnown) throw completedAt(requests.shownAddress);
  const isBefore = since === undefined ? undefined : isOlder(headers, since);
  if (isBefore) return requireSettled(requests, completing.lateCompletion);
  const isIt = isKnown === undefined && isBefore === false && hasSize(headers, size) === true;
  throw completedAt(requests.shownAddress, isIt ? undefined : 'an object exists, but it may be from another upload');
}

function requireSettled(requests: UploadRequests, lateCompletion: string | undefined): void {
  if (lateCompletion !== undefined) throw mayAppearAt(requests.shownAddress, lateCompletion);
}
