// For unit tests of the requests of an upload: a server that is a list of replies.

import { addressOf } from '../http/address.js';
import type { UploadCall } from './upload-exchange.js';
import type { UploadOptions } from './upload-options.js';
import { UploadRequests } from './upload-requests.js';
import { failure, runClock } from './uploads.test-support.js';

export const PLACE = 'https://cloud.test/disk';
export const ADDRESS = addressOf(PLACE);
export const MIB = 1 << 20;

/** An answer by its status, no answer at once or ever, or an answer that a function makes. */
export type Reply = number | 'drop' | 'silent' | (() => Response | Promise<Response>);

/** A `fetch` that returns `replies` one after another, the last one forever; `calls` has the time and request of each call. */
export function scripted(...replies: Reply[]) {
  const calls: { at: number; url: string; init: RequestInit }[] = [];
  const fetch = async (url: unknown, init: RequestInit = {}): Promise<Response> => {
    const reply = replies[Math.min(calls.length, replies.length - 1)]!;
    calls.push({ at: performance.now(), url: String(url), init });
    if (reply === 'silent') return new Promise(() => {});
    if (reply === 'drop') throw new TypeError('fetch failed', { cause: new Error('the connection broke') });
    return typeof reply === 'number' ? new Response(null, { status: reply }) : reply();
  };
  /** The waits between requests, in milliseconds. */
  const waits = () => calls.slice(1).map(({ at }, number) => at - calls[number]!.at);
  return { fetch: fetch as typeof globalThis.fetch, calls, waits };
}

export const putting = (length = 1): (() => UploadCall) => {
  const call = { method: 'PUT', url: PLACE, body: new Uint8Array(length) };
  return () => call;
};

/** Sends a body of `length` bytes; the message of the failure, if there is one. */
export function sending(requests: UploadRequests, length = 1): Promise<string> {
  return runClock(failure(requests.send(putting(length), [200])));
}

/** Requests to such a server. */
export function over(replies: Reply[], options: UploadOptions = {}) {
  const server = scripted(...replies);
  return { ...server, requests: new UploadRequests(ADDRESS, { fetch: server.fetch, ...options }) };
}

/** A reply that comes after `milliseconds`. */
export const later = (milliseconds: number) => () =>
  new Promise<Response>((done) => setTimeout(() => done(new Response(null, { status: 201 })), milliseconds));

/** A response of `count` spaces, one every `wait` milliseconds. Then it ends, or sends nothing more if `isSilent`. */
export const spaces = (wait: number, count = Number.POSITIVE_INFINITY, isSilent = false) => {
  let left = count;
  return new Response(
    new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (left === 0 && isSilent) return new Promise(() => {});
          await new Promise((resolve) => setTimeout(resolve, wait));
          if (left === 0) return controller.close();
          left -= 1;
          controller.enqueue(new Uint8Array([32]));
        },
      },
      { highWaterMark: 0 },
    ),
  );
};
