// Opening files on servers, with a fake `fetch` and a clock that runs as fast as possible.

import { getEventListeners, setMaxListeners } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  type Asked,
  type Fault,
  fakeFile,
  NOT_RESPONSES,
  PASSING,
  type Reply,
  rangeOf,
} from '../../e2e/support/replies.js';
import { DecantError } from '../errors/errors.js';
import type { HttpOptions } from '../http/http-types.js';
import { RequestLimit } from '../http/request-limit.js';
import type { Source } from '../public/types.js';
import { readCustomSource } from './custom-sources.js';
import { openAddress, openHttp } from './open-http.js';

const NODE = { seesRedirects: true };
const ADDRESS = 'https://127.0.0.1/images/disk.qcow2?token=secret';
const OPENED = "Could not open 'https://127.0.0.1/images/disk.qcow2': ";
const HEAD = 64 << 10;
const MIB = 1 << 20;
const MODIFIED = 'Wed, 25 Nov 2026 10:00:00 GMT';
const LATER = 'Wed, 25 Nov 2026 10:00:01 GMT';
const signal = new AbortController().signal;

/** A file without equal parts. */
const whole = Buffer.from(Uint32Array.from({ length: MIB }, (_, at) => Math.imul(at, 2_654_435_761)).buffer);

beforeEach(() => {
  vi.useFakeTimers();
  vi.setTimerTickMode('nextTimerAsync');
  // The maximum of the jitter.
  vi.spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => {
  vi.useRealTimers();
});

type Answers = Parameters<typeof fakeFile>[1];

/** Opens `content` on a server. Returns its requests too. */
function openFrom(content: Uint8Array, answers?: Answers, options: HttpOptions = {}) {
  const { fetch, asked } = fakeFile(content, answers);
  return { asked, opening: openHttp(NODE, ADDRESS, { fetch, ...options }) as Promise<Source> };
}

const failureOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing failed',
    (thrown: unknown) => {
      if (!(thrown instanceof DecantError)) throw thrown;
      return `${thrown.kind}: ${thrown.message}`;
    },
  );

/** A response that breaks off after `length` bytes. */
function cutAfter(request: Asked, etag: string | undefined, length: number): Reply {
  const { start, end } = rangeOf(request, whole.length)!;
  const headers = { ...(etag && { ETag: etag }), 'Content-Range': `bytes ${start}-${end - 1}/${whole.length}` };
  return { status: 206, headers, body: whole.subarray(start, Math.min(end, start + length)), end: 'broken' };
}

const readAll = (source: Source) => source.read(0, source.size, { signal });

test('the first request fetches the head, which is not requested again', async () => {
  const { asked, opening } = openFrom(whole);
  const source = await opening;
  expect(source).toMatchObject({ size: whole.length, name: 'disk.qcow2', unnoticed: undefined });
  expect(source.network).toEqual({ received: HEAD, sent: 0, retries: 0, silence: 0 });
  expect(Buffer.compare(await source.read(1000, HEAD - 1000, { signal }), whole.subarray(1000, HEAD))).toBe(0);
  expect(asked.map(({ method, range, url }) => [method, range, url.search])).toEqual([
    ['GET', 'bytes=0-65535', '?token=secret'],
  ]);
});

test.for([0, 1, 512, HEAD - 1, HEAD, HEAD + 1, HEAD + 512])('a file of %d bytes', async (size) => {
  const source = await openFrom(whole.subarray(0, size)).opening;
  expect(source.size).toBe(size);
  if (size > 0) expect(Buffer.compare(await readAll(source), whole.subarray(0, size))).toBe(0);
});

test('for open, the URL identifies the file', async () => {
  const { fetch } = fakeFile(whole);
  vi.stubGlobal('fetch', fetch);
  const opened = await openAddress(NODE, ADDRESS, {});
  expect(opened).toMatchObject({ name: 'disk.qcow2', size: whole.length, identity: ADDRESS });
});

test.for([
  ['an ETag', { ETag: '"a"', 'Last-Modified': MODIFIED }, 'id=7', '[["id","7"]],4194304,"\\"a\\""]'],
  ['a time', { 'Last-Modified': MODIFIED, Date: LATER }, '', `[],4194304,"${MODIFIED}",null]`],
  ['the current time', { 'Last-Modified': MODIFIED, Date: MODIFIED }, '', undefined],
  ['a weak ETag', { ETag: 'W/"a"' }, '', undefined],
  [
    'a weak ETag and a time',
    { ETag: 'W/"a"', 'Last-Modified': MODIFIED, Date: LATER },
    '',
    `[],4194304,"${MODIFIED}","W/\\"a\\""]`,
  ],
  ['a signature as well', { ETag: '"a"' }, 'X-Amz-Signature=secret&id=7', '[["id","7"]],4194304,"\\"a\\""]'],
  ['a parameter named like a part of a signature', { ETag: '"a"' }, 'policy=b', '[["policy","b"]],4194304,"\\"a\\""]'],
] as const)('the state of a file with %s', async ([, headers, query, state]) => {
  const answer = (): Reply => ({
    status: 206,
    headers: { ...headers, 'Content-Range': `bytes 0-65535/${whole.length}` },
    body: whole.subarray(0, HEAD),
  });
  const { fetch } = fakeFile(whole, { answer });
  const source = (await openHttp(NODE, `https://host/disk?${query}`, { fetch })) as Source;
  expect(source.state).toBe(state && `["https://host/disk",${state}`);
  expect(source.unnoticed === undefined).toBe(state !== undefined);
});

const ENCODED = 'so its parts cannot be read; serve it without Content-Encoding, or download it and open the file';
const REFUSALS: [Fault, string][] = [
  ['another range', 'the server sent bytes 1 to 65536 instead of bytes 0 to 65535'],
  ['no range', 'the server does not state which part of the file it sends (Content-Range)'],
  ['more', 'the server sent more bytes than requested'],
  ['several parts', 'the server sent several parts instead of bytes 0 to 65535'],
  ['encoded', `the server sends the file encoded as x-other, ${ENCODED}`],
  ['status 404', 'the server answered 404 Not Found; there is no such file'],
  ['status 403', 'the server answered 403 Forbidden; it does not allow this, or the address has expired'],
  ['redirect to nowhere', "the server's Location header leads to an address of ftp:"],
];
test.for(REFUSALS)('the first response: %s', async ([fault, sentence]) => {
  const { asked, opening } = openFrom(whole, { fault: () => fault });
  expect(await failureOf(opening)).toBe(`source: ${OPENED}${sentence}`);
  expect(asked).toHaveLength(1);
});

test.for(PASSING)('the first response, a temporary fault: %s', async (fault) => {
  const { opening } = openFrom(whole, { fault: (number) => (number === 0 ? fault : undefined) });
  const source = await opening;
  expect(Buffer.compare(await readAll(source), whole)).toBe(0);
});

test('a first response that ends early without an error of fetch is continued', async () => {
  const answer = (_: unknown, number: number): Reply | undefined => {
    const headers = { ETag: '"now"', 'Content-Range': `bytes 0-65535/${whole.length}` };
    return number === 0 ? { status: 206, headers, body: whole.subarray(0, 1000) } : undefined;
  };
  const { asked, opening } = openFrom(whole, { answer });
  expect(Buffer.compare(await readAll(await opening), whole)).toBe(0);
  expect(asked[1]?.range).toBe('bytes=1000-65535');
});

test('first responses that are all cut off are continued, even with few bytes each', async () => {
  const etags = (at: number) => (at < 20 ? '"now"' : undefined);
  const { asked, opening } = openFrom(whole, { answer: (request, number) => cutAfter(request, etags(number), 3000) });
  const source = await opening;
  expect(asked.map(({ range }) => range).slice(0, 3)).toEqual([
    'bytes=0-65535',
    'bytes=3000-65535',
    'bytes=6000-65535',
  ]);
  expect(Buffer.compare(await source.read(0, HEAD, { signal }), whole.subarray(0, HEAD))).toBe(0);
});

test('a file that changes between two parts of the first bytes is fetched again', async () => {
  const etags = (at: number) => (at === 0 ? '"before"' : '"now"');
  const answer = (request: Asked, number: number) => (number < 2 ? cutAfter(request, etags(number), 3000) : undefined);
  const { asked, opening } = openFrom(whole, { answer });
  const source = await opening;
  expect(asked.map(({ range }) => range)).toEqual(['bytes=0-65535', 'bytes=3000-65535', 'bytes=0-65535']);
  expect(source.state).toContain('now');
  expect(Buffer.compare(await readAll(source), whole)).toBe(0);
});

test('a first response of the wrong length is refused at once', async () => {
  const headers = { 'Content-Range': `bytes 0-65535/${whole.length}`, 'Content-Length': 1000 };
  const { asked, opening } = openFrom(whole, {
    answer: () => ({ status: 206, headers, body: whole.subarray(0, 1000) }),
  });
  expect(await failureOf(opening)).toBe(
    `source: ${OPENED}the server states 65536 bytes, 0 to 65535, in Content-Range, but 1000 bytes in Content-Length`,
  );
  expect(asked).toHaveLength(1);
});

test('a first range that the server encoded is refused at once', async () => {
  const headers = { 'Content-Range': `bytes 0-65535/${whole.length}`, 'Content-Length': 1000 };
  const stored = fakeFile(whole, { answer: () => ({ status: 206, headers, body: whole.subarray(0, 1000) }) });
  const encoded = fakeFile(whole, {
    answer: () => ({ status: 206, headers: { ...headers, 'Content-Encoding': 'gzip' }, body: whole.subarray(0, 1000) }),
  });
  const platform = { ...NODE, fetch: async () => encoded.fetch, fetchUndecoded: async () => stored.fetch };
  const opening = openHttp(platform, ADDRESS, {});
  expect(await failureOf(opening)).toBe(`source: ${OPENED}the server sends the file encoded as gzip, ${ENCODED}`);
  await expect(opening).rejects.toMatchObject({ code: 'content-encoded', fields: { coding: 'gzip' } });
  expect([encoded.asked.length, stored.asked.length]).toEqual([1, 1]);
});

test('an impossible size is an error of the source', async () => {
  const size = '9'.repeat(23);
  const headers = { 'Content-Range': `bytes 0-65535/${size}` };
  const { opening } = openFrom(whole, { answer: () => ({ status: 206, headers, body: whole.subarray(0, HEAD) }) });
  expect(await failureOf(opening)).toBe(`source: ${OPENED}the server states an impossible file size: ${size} bytes`);
});

test('an unreachable server is asked three times', async () => {
  const { asked, opening } = openFrom(whole, { fault: () => 'drop' });
  expect(await failureOf(opening)).toBe(`source: ${OPENED}no answer came from https://127.0.0.1 (other side closed)`);
  expect(asked).toHaveLength(3);
});

test('a busy server that then breaks a connection counts as reachable', async () => {
  const faults: Fault[] = ['status 503', 'status 503', 'drop', 'drop'];
  const { asked, opening } = openFrom(whole, { fault: (number) => faults[number] });
  expect(await failureOf(opening)).toBe('nothing failed');
  expect(asked).toHaveLength(5);
});

test.for([
  ['status 503', 'the server answered 503 Service Unavailable'],
  ['429, until', 'the server answered 429 Too Many Requests'],
] as const)('a server that always answers %s gets few requests before the failure', async ([fault, sentence]) => {
  const begin = performance.now();
  const { asked, opening } = openFrom(whole, { fault: () => fault }, { patience: 10 });
  expect(await failureOf(opening)).toBe(`source: ${OPENED}${sentence}`);
  // After waits of 250, 500, 1000, 2000 and 4000 milliseconds.
  expect(asked).toHaveLength(6);
  expect(performance.now() - begin).toBe(7750);
});

/** A server that does not state the size with a range. `answer` responds to HEAD, and to GET without a range. */
const hidesSize = (answer: (method: string, count: number) => Reply | undefined): Answers => {
  let count = 0;
  return {
    answer: (asked) => {
      const range = rangeOf(asked, whole.length);
      if (!range) {
        count += 1;
        return answer(asked.method, count);
      }
      const { start, end } = range;
      const headers = { ETag: '"now"', 'Content-Range': `bytes ${start}-${end - 1}/*` };
      return { status: 206, headers, body: whole.subarray(start, end) };
    },
  };
};

const noSize = (status: number) =>
  `the server does not state the size of the file: Content-Range of its response 206 to a range has no size, and its response ${status} to GET has no Content-Length`;
test.for([
  ['by HEAD', () => undefined, undefined, 2],
  [
    'says that HEAD has nothing',
    (method) => (method === 'HEAD' ? { status: 200, headers: { 'Content-Length': 0 } } : undefined),
    undefined,
    3,
  ],
  ['does not respond to HEAD', (method) => (method === 'HEAD' ? { end: 'broken' } : undefined), undefined, 3],
  ['does not allow HEAD', (method) => (method === 'HEAD' ? { status: 405 } : undefined), undefined, 3],
  ['is busy at first', (_, count) => (count < 3 ? { status: 503 } : undefined), undefined, 5],
  ['never states it', () => ({ status: 200, body: whole }), noSize(200), 3],
  ['allows neither HEAD nor all of the file', () => ({ status: 403 }), noSize(403), 3],
] as [
  string,
  (method: string, count: number) => Reply | undefined,
  string | undefined,
  number,
][])('the size of a file whose server %s', async ([, answer, sentence, requests]) => {
  const { asked, opening } = openFrom(whole, hidesSize(answer));
  if (sentence === undefined) expect((await opening).size).toBe(whole.length);
  else expect(await failureOf(opening)).toBe(`source: ${OPENED}${sentence}`);
  expect(asked).toHaveLength(requests);
});

/** A server without range support. */
const sendsWhole = (
  body: Uint8Array,
  headers: Record<string, string | number> = { 'Content-Length': body.length },
) => ({
  answer: (): Reply => ({ status: 200, headers, body }),
});

test.for([
  ['with a length', { 'Content-Length': whole.length }, undefined],
  [
    'without a length',
    {},
    'https://127.0.0.1 does not state the size of the file, so a truncated file may go unnoticed',
  ],
] as [string, Record<string, number>, string | undefined][])('a small file that is sent whole, %s', async ([
  ,
  headers,
  unnoticed,
]) => {
  const { asked, opening } = openFrom(whole, sendsWhole(whole, headers));
  const source = await opening;
  expect(source).toMatchObject({ size: whole.length, unnoticed, network: { received: whole.length } });
  expect(Buffer.compare(await readAll(source), whole)).toBe(0);
  expect(asked).toHaveLength(1);
});

test('a small file that is sent whole and breaks off once', async () => {
  const { asked, opening } = openFrom(whole, {
    answer: (_, number) => ({
      status: 200,
      headers: { 'Content-Length': whole.length },
      body: number === 0 ? whole.subarray(0, 1000) : whole,
    }),
  });
  const source = await opening;
  expect(Buffer.compare(await readAll(source), whole)).toBe(0);
  expect(source.network).toMatchObject({ retries: 1 });
  expect(asked).toHaveLength(2);
});

test('a whole file that is always shorter than its length', async () => {
  const short = sendsWhole(whole.subarray(0, 1000), { 'Content-Length': 5000 });
  expect(await failureOf(openFrom(whole, short, { patience: 1 }).opening)).toBe(
    `source: ${OPENED}the connection broke`,
  );
});

const large = new Uint8Array(65 * MIB);
test('a large file that is sent whole can be opened', async () => {
  const { asked, opening } = openFrom(large, sendsWhole(large));
  const source = await opening;
  expect(source).toMatchObject({ size: large.length, name: 'disk.qcow2' });
  await expect(source.read(0, 1, { signal })).rejects.toThrow("can be read only once, in order, by 'open'");
  expect(asked).toHaveLength(1);
});

test('a large file of unknown size that is sent whole can be opened by its URL only', async () => {
  const answers = sendsWhole(large, {});
  expect(await failureOf(openFrom(large, answers).opening)).toBe(
    `unsupported: ${OPENED}its server sends only whole files, and this one is large and of unknown size: pass the URL to 'open', which reads it once`,
  );
  vi.stubGlobal('fetch', fakeFile(large, answers).fetch);
  const opened = await openAddress(NODE, ADDRESS, {});
  expect(opened).toMatchObject({ name: 'disk.qcow2', size: undefined });
  await opened.close();
});

// `fetch` decodes a truncated body without an error.
const UNPROVEN =
  'so a truncated file would go unnoticed; serve it without Content-Encoding, or download it and open the file';
const CODINGS = ['gzip', 'x-gzip', 'deflate', 'br', 'zstd', 'compress', 'x-other', 'gzip, br'];
test.for(
  CODINGS.flatMap((coding) => [whole, large].map((content) => ({ coding, content }))),
)('a whole file that is encoded as $coding', async ({ coding, content }) => {
  for (const length of [{}, { 'Content-Length': content.length }]) {
    const headers = { ...length, 'Content-Encoding': coding };
    const { asked, opening } = openFrom(content, sendsWhole(content, headers));
    expect(await failureOf(opening)).toBe(
      `source: ${OPENED}the server sends the file encoded as ${coding}, ${UNPROVEN}`,
    );
    await expect(opening).rejects.toMatchObject({ code: 'content-encoded', fields: { coding } });
    expect(asked).toHaveLength(1);
  }
});

test.for([
  ['gzip', 1],
  ['x-gzip', 1],
  ['deflate', 0],
  ['br', 0],
  ['zstd', 0],
] as const)('the stored bytes of a file that is encoded as %s', async ([coding, requests]) => {
  for (const answers of [
    sendsWhole(whole, { 'Content-Encoding': coding }),
    {
      answer: () => ({
        status: 206,
        headers: { 'Content-Range': `bytes 0-65535/${whole.length}`, 'Content-Encoding': coding },
        body: whole.subarray(0, HEAD),
      }),
    },
  ]) {
    const encoded = fakeFile(whole, answers);
    const stored = fakeFile(whole, sendsWhole(whole));
    const platform = { ...NODE, fetch: async () => encoded.fetch, fetchUndecoded: async () => stored.fetch };
    const failure = await failureOf(openHttp(platform, ADDRESS, {}));
    expect(failure).toMatch(requests === 1 ? /^nothing failed$/ : `encoded as ${coding}`);
    expect([encoded.asked.length, stored.asked.length]).toEqual([1, requests]);
  }
});

const gzip = Uint8Array.of(0x1f, 0x8b, ...new Uint8Array(1000));
const largeGzip = new Uint8Array(65 * MIB);
largeGzip.set(gzip);
test.for([
  ['disk.raw.gz', gzip, 'nothing failed'],
  ['disk.TGZ', gzip, 'nothing failed'],
  ['disk.gz', largeGzip, 'nothing failed'],
  ['disk', whole, 'nothing failed'],
  ['disk', new Uint8Array(1), 'nothing failed'],
  ['disk', gzip, 'encoded as gzip'],
  ['disk.raw', gzip, 'encoded as gzip'],
  ['disk', largeGzip, 'encoded as gzip'],
] as const)('a file labelled gzip: %s', async ([name, content, expected]) => {
  const encoded = fakeFile(content, sendsWhole(content, { 'Content-Encoding': 'gzip' }));
  for (const answers of [sendsWhole(content), content.length > 64 * MIB ? sendsWhole(content) : {}]) {
    const stored = fakeFile(content, answers);
    const platform = { ...NODE, fetch: async () => encoded.fetch, fetchUndecoded: async () => stored.fetch };
    expect(await failureOf(openHttp(platform, `https://127.0.0.1/${name}`, {}))).toContain(expected);
    expect(stored.asked).toHaveLength(1);
  }
});

test('the length of an encoded response to HEAD is not the size', async () => {
  const answer = ({ method }: Asked): Reply =>
    method === 'GET'
      ? { status: 206, headers: { 'Content-Range': 'bytes 0-65535/*' }, body: whole.subarray(0, HEAD) }
      : { status: 200, headers: { 'Content-Length': 100_000, 'Content-Encoding': 'gzip' } };
  expect(await failureOf(openFrom(whole, { answer }).opening)).toContain(
    'the server does not state the size of the file',
  );
});

test('a headers function that never resolves', async () => {
  const never = () => new Promise<never>(() => {});
  const { asked, opening } = openFrom(whole, {}, { headers: never });
  expect(await failureOf(opening)).toBe(`source: ${OPENED}no byte came for 30 seconds`);
  const cancel = new AbortController();
  const cancelled = openFrom(whole, {}, { headers: never, signal: cancel.signal });
  const begin = performance.now();
  cancel.abort();
  expect(await failureOf(cancelled.opening)).toBe('cancelled: The operation was cancelled');
  // Not after the time-out.
  expect(performance.now()).toBe(begin);
  expect([...asked, ...cancelled.asked]).toEqual([]);
});

test('a headers function that fails sometimes', async () => {
  let calls = 0;
  const headers = async () => {
    calls += 1;
    if (calls % 2 === 1) throw new TypeError('fetch failed');
    return { 'X-Token': 'fresh' };
  };
  const { asked, opening } = openFrom(whole, {}, { headers });
  expect(Buffer.compare(await readAll(await opening), whole)).toBe(0);
  expect(asked.every(({ headers }) => headers['x-token'] === 'fresh')).toBe(true);
});

test('a headers function that always fails', async () => {
  const headers = () => {
    throw new Error('sign in again');
  };
  expect(await failureOf(openFrom(whole, {}, { headers }).opening)).toBe(`source: ${OPENED}sign in again`);
});

test('opening is cancelled while the server is silent, and before it begins', async () => {
  const cancel = new AbortController();
  const fault = (): Fault => {
    cancel.abort();
    return 'silent';
  };
  const { asked, opening } = openFrom(whole, { fault }, { signal: cancel.signal });
  expect(await failureOf(opening)).toBe('cancelled: The operation was cancelled');
  expect(asked).toHaveLength(1);
  const late = openFrom(whole, {}, { signal: AbortSignal.abort() });
  expect(await failureOf(late.opening)).toBe('cancelled: The operation was cancelled');
  expect(late.asked).toEqual([]);
});

test('the signal of opening has no effect after opening', async () => {
  const cancel = new AbortController();
  const source = await openFrom(whole, {}, { signal: cancel.signal }).opening;
  cancel.abort();
  expect(Buffer.compare(await readAll(source), whole)).toBe(0);
});

test.for([
  ['timeout', Number.NaN],
  ['timeout', -1],
  ['patience', Number.NaN],
] as const)('an invalid time: %s %d', async ([name, value]) => {
  const { asked, opening } = openFrom(whole, {}, { [name]: value });
  expect(await failureOf(opening)).toMatch(new RegExp(`^usage: '${name}' must be a number of seconds, 0 or more`));
  expect(asked).toEqual([]);
});

test('unlimited times', async () => {
  const endless = { timeout: Number.POSITIVE_INFINITY, patience: Number.POSITIVE_INFINITY };
  const { opening } = openFrom(whole, { fault: (number) => (number < 30 ? 'status 503' : undefined) }, endless);
  expect(Buffer.compare(await readAll(await opening), whole)).toBe(0);
});

/** All text of an error and its causes. */
const everything = (error: unknown): string =>
  error instanceof Error ? `${error.message} ${error.stack} ${everything(error.cause)} ${JSON.stringify(error)}` : '';

test.for([
  ['a header', {}, { headers: { 'X-Token': 'top\nsecret' } }, "The header 'X-Token' has an invalid character"],
  [
    'a redirect',
    { answer: () => ({ status: 302, headers: { Location: 'http://[secret' } }) },
    {},
    'Location header is not a valid address',
  ],
  ['the address', { fault: () => 'status 403' }, {}, 'the server answered 403'],
] as [string, Answers, HttpOptions, string][])('no error contains a secret: %s', async ([
  ,
  answers,
  options,
  sentence,
]) => {
  const failed = await openFrom(whole, answers, options).opening.catch(everything);
  expect(failed).toContain(sentence);
  expect(failed).not.toContain('secret');
});

test('an onWaiting that throws fails the opening, and a read', async () => {
  const onWaiting = () => {
    throw new Error('no');
  };
  const silent = openFrom(whole, { fault: () => 'silent' }, { onWaiting }).opening;
  expect(await failureOf(silent)).toBe('usage: Could not report a wait: no');
  const faults = (number: number) => (number > 0 ? 'silent' : undefined);
  const source = await openFrom(whole, { fault: faults }, { onWaiting }).opening;
  expect(await failureOf(readCustomSource(source, HEAD, 10, signal))).toBe('usage: Could not report a wait: no');
  expect(await failureOf(source.verify!({ signal }))).toMatch('usage: Could not report a wait: no');
});

test.for(NOT_RESPONSES)('a fetch that resolves to %o', async (response) => {
  const fetch = vi.fn(async () => response as Response);
  expect(await failureOf(openHttp(NODE, ADDRESS, { fetch }))).toBe(
    "usage: The custom 'fetch' must resolve to a Response",
  );
  expect(fetch).toHaveBeenCalledOnce();
});

test('the body of an error is not awaited', async () => {
  const body = new ReadableStream({ pull: () => new Promise(() => {}), cancel: () => new Promise(() => {}) });
  const fetch = async () => new Response(body, { status: 403 });
  const sentence = 'the server answered 403; it does not allow this, or the address has expired';
  expect(await failureOf(openHttp(NODE, ADDRESS, { fetch }))).toBe(`source: ${OPENED}${sentence}`);
});

test('a fetch that resolves to a response whose body was read', async () => {
  const response = new Response('read');
  response.body!.getReader();
  const sentence = "usage: The custom 'fetch' must resolve to a new Response: the body of this one was read";
  expect(await failureOf(openHttp(NODE, ADDRESS, { fetch: async () => response }))).toBe(sentence);
});

test('opening waits for the limit of requests to the server', async () => {
  vi.useRealTimers();
  const held: (() => void)[] = [];
  const before = () => new Promise<void>((go) => held.push(go));
  const { fetch } = fakeFile(whole, { before });
  const limit = new RequestLimit();
  const openings = Array.from({ length: 8 }, () => openHttp(NODE, ADDRESS, { fetch, limit }));
  await expect.poll(() => held.length, { interval: 1 }).toBe(6);
  for (const [at, opening] of openings.entries()) {
    expect(held.length).toBe(Math.min(8, 6 + at));
    held[at]!();
    await opening;
    await expect.poll(() => held.length, { interval: 1 }).toBe(Math.min(8, 7 + at));
  }
});

test.for([
  ['one limit of two', [2, 'shared'], 2],
  ['separate limits', [2, 'own'], 5],
  ['no limit', undefined, 5],
  ['one limit of twenty', [20, 'shared'], 5],
] as const)('five files of one server that are opened at once, with %s: %d requests at once', async ([
  ,
  given,
  expected,
]) => {
  let [underWay, most] = [0, 0];
  const before = async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((done) => setTimeout(done, 1000));
    underWay -= 1;
  };
  const shared = new RequestLimit(given?.[0]);
  const limitOf = () =>
    given === undefined ? {} : { limit: given[1] === 'own' ? new RequestLimit(given[0]) : shared };
  const opening = Array.from({ length: 5 }, () => openFrom(whole.subarray(0, 1000), { before }, limitOf()).opening);
  const sizes = (await Promise.all(opening)).map(({ size }) => size);
  expect(sizes).toEqual(Array(5).fill(1000));
  expect(most).toBe(expected);
});

test('a limit of twenty requests lets one file have more than six', async () => {
  let [underWay, most] = [0, 0];
  const before = async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((done) => setTimeout(done, 10));
    underWay -= 1;
  };
  const source = await openFrom(whole, { before }, { limit: new RequestLimit(20) }).opening;
  // Each read listens to it only while it runs.
  const one = new AbortController().signal;
  setMaxListeners(40, one);
  const reads = Array.from({ length: 40 }, (_, at) => source.read((1 + 2 * at) << 15, 1 << 14, { signal: one }));
  await Promise.all(reads);
  expect(most).toBeGreaterThan(6);
  expect(getEventListeners(one, 'abort')).toEqual([]);
});

test.for([
  ['the reason phrase', async () => new Response(null, { status: 403, statusText: 'not SECRET' })],
  ['a network error', async () => Promise.reject(new TypeError('not SECRET'))],
] as const)('a secret of the headers that %s repeats is not in the message', async ([, fetch]) => {
  const headers = { Authorization: 'Bearer SECRET' };
  const thrown: unknown = await openHttp(NODE, 'https://host/disk', { fetch, headers, patience: 0 }).catch(
    (error) => error,
  );
  expect(thrown).toMatchObject({ kind: 'source', message: expect.stringContaining('not …') });
  expect(thrown).not.toMatchObject({ message: expect.stringContaining('SECRET') });
});
