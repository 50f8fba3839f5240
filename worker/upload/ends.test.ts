// How uploads end: each response to each of the last requests of each protocol, after the server did what was requested, and
// after it did not. A successful upload has its object on the server; only if the server refuses HEAD,
// the result is unconfirmed, and says so.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Asked, Cloud } from '../../e2e/support/cloud.js';
import { byScope } from '../../e2e/support/scope.js';
import { cloudOf, DISK, KINDS, type Kind, objectIn, runClock, TARGETS, upload } from './uploads.test-support.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The request that ends an upload. */
const ENDS: Record<Kind, (asked: Asked) => boolean> = {
  s3: ({ method, url }) => method === 'POST' && url.includes('uploadId'),
  gcs: ({ method, headers }) => method === 'PUT' && /\/\d+$/.test(headers['content-range'] ?? ''),
  tus: ({ method, headers }) => method === 'PATCH' && headers['upload-offset'] === String(DISK.length - 512),
  put: ({ method }) => method === 'PUT',
  'page blob': ({ headers }) => headers['x-ms-range'] === `bytes=${DISK.length - 512}-${DISK.length - 1}`,
  'block blob': ({ url }) => url.includes('comp=blocklist'),
};
const isHead = ({ method }: Asked): boolean => method === 'HEAD';

/** Whether the server does what is requested, and the response that arrives. */
interface End {
  isDone: boolean;
  /** `undefined` is the server's own answer. */
  answer: (() => Response) | 'lost' | undefined;
}

const html = () =>
  new Response('<html>Sign in to the hotel network</html>', { headers: { 'Content-Type': 'text/html' } });
const ANSWERS: Record<string, End['answer']> = {
  'its own answer': undefined,
  'no answer': 'lost',
  'an empty 200': () => new Response(''),
  'an empty 201': () => new Response('', { status: 201 }),
  'a 204': () => new Response(null, { status: 204 }),
  'a page (200)': html,
  'white space (200)': () => new Response('<?xml version="1.0"?>\n   \n'),
  'an error of a namespace (200)': () =>
    new Response('<Error xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Code>InvalidPart</Code></Error>'),
  'an error without a code (200)': () => new Response('<Error><Message>no</Message></Error>'),
  'another object (200)': () => new Response('{ "size": "1", "md5Hash": "AAAA" }', { status: 200 }),
  'a 403': () => new Response(null, { status: 403 }),
  'a 404': () => new Response(null, { status: 404 }),
  'a 503': () => new Response(null, { status: 503 }),
};
const HEADS: Record<string, (() => Response) | undefined> = {
  'its own answer to HEAD': undefined,
  'HEAD is not allowed (403)': () => new Response(null, { status: 403 }),
  'HEAD finds a page': html,
  'there is no HEAD (405)': () => new Response(null, { status: 405 }),
  'HEAD finds nothing (404)': () => new Response(null, { status: 404 }),
  'HEAD finds another size': () => new Response(null, { headers: { 'Content-Length': '1' } }),
};
/** `npm test` combines the answers to the end with the first ones. */
const MOST_HEADS = byScope({ short: 3, full: Infinity });
const CLOSED = ['HEAD is not allowed (403)', 'there is no HEAD (405)'];

/** A `fetch` to `cloud` that changes the answers to the end, once or always, and to HEAD. */
function changing(
  cloud: Cloud,
  kind: Kind,
  end: End,
  isOnce: boolean,
  head: (() => Response) | undefined,
): typeof fetch {
  let isMet = false;
  return async (url, init = {}) => {
    const { pathname, search } = new URL(String(url));
    const headers = Object.fromEntries(new Headers(init.headers));
    const asked = { method: init.method!, url: `${pathname}${search}`, headers, length: 0 };
    if (isHead(asked) && head) return head();
    if (!ENDS[kind](asked) || (isOnce && isMet)) return cloud.fetch(url as string, init);
    // The body of one PUT can be read once.
    isMet = true;
    if (!end.isDone && init.body instanceof ReadableStream) await new Response(init.body).arrayBuffer();
    const own = end.isDone || end.answer === undefined ? await cloud.fetch(url as string, init) : undefined;
    if (end.answer === 'lost') throw new TypeError('fetch failed', { cause: new Error('the connection broke') });
    return end.answer === undefined ? own! : end.answer();
  };
}

const ROWS = KINDS.flatMap((kind) => Object.keys(ANSWERS).map((answer) => [kind, answer] as const));

test.each(ROWS)('%s, %s: success means that the object exists', async (kind, name) => {
  for (const [headName, head] of Object.entries(HEADS).slice(0, MOST_HEADS)) {
    for (const [isDone, isOnce] of [
      [true, true],
      [true, false],
      [false, true],
      [false, false],
    ] as const) {
      const cloud = cloudOf();
      const fetch = changing(cloud, kind, { isDone, answer: ANSWERS[name] }, isOnce, head);
      const row = `${isDone ? 'done' : 'not done'}, ${isOnce ? 'once' : 'always'}, ${headName}`;
      const ended = await runClock(
        upload(TARGETS[kind]({ fetch }, { patience: 10 }), DISK).then(
          (end) => ({ isConfirmed: end?.unconfirmed === undefined, failed: undefined }),
          (thrown: Error) => ({ isConfirmed: false, failed: thrown.message }),
        ),
      );
      const isThere = objectIn(cloud)?.equals(DISK) ?? false;
      if (ended.isConfirmed) expect(isThere, row).toBe(true);
      // Undetectable: a server that confirms, but refuses HEAD.
      else if (ended.failed === undefined) expect(isThere || CLOSED.includes(headName), row).toBe(true);
      // An upload that was completed, with true responses at the end, does not fail.
      if (isDone && isOnce && headName === 'its own answer to HEAD' && MENDED[kind].includes(name)) {
        expect(ended, row).toEqual({ isConfirmed: true, failed: undefined });
      }
    }
  }
});

/** Faults that may replace the response once: the object is found nevertheless. */
const MENDED: Record<Kind, string[]> = {
  s3: [
    'its own answer',
    'no answer',
    'an empty 200',
    'a page (200)',
    'white space (200)',
    'an error without a code (200)',
    'a 503',
  ],
  gcs: ['its own answer', 'no answer', 'an empty 200', 'an empty 201', 'a page (200)', 'white space (200)', 'a 503'],
  tus: ['its own answer', 'no answer', 'a 503'],
  put: ['its own answer', 'an empty 200', 'an empty 201', 'a 204', 'a page (200)'],
  'page blob': ['its own answer', 'no answer', 'an empty 201', 'a 503'],
  'block blob': ['its own answer', 'no answer', 'an empty 201', 'a 503'],
};
