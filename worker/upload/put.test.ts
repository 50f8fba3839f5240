// One plain PUT.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { TargetPlan } from '../public/types.js';
import { Put } from './put.js';
import type { UploadOptions } from './upload-options.js';
import {
  cloudOf,
  DISK,
  failure,
  objectIn,
  planOf,
  requestsTo,
  runClock,
  TARGETS,
  upload,
} from './uploads.test-support.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const UNKNOWN = { ascending: true };

test('a known size is stated', async () => {
  const cloud = cloudOf();
  const target = TARGETS.put(cloud);
  expect(await runClock(failure(upload(target, DISK)))).toBe('nothing failed');
  expect(cloud.asked[0]!.headers).toMatchObject({
    'content-length': String(DISK.length),
    'content-type': 'application/octet-stream',
  });
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  expect(target.network).toMatchObject({ sent: DISK.length, retries: 0 });
});

test('an unknown size is omitted', async () => {
  const cloud = cloudOf();
  expect(await runClock(failure(upload(TARGETS.put(cloud), DISK, UNKNOWN)))).toBe('nothing failed');
  expect(cloud.asked[0]!.headers['content-length']).toBeUndefined();
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test('an empty output', async () => {
  const cloud = cloudOf();
  expect(await runClock(failure(upload(TARGETS.put(cloud), Buffer.alloc(0))))).toBe('nothing failed');
  expect(objectIn(cloud)).toEqual(Buffer.alloc(0));
});

test('holes are sent as zeros, also those larger than a piece', async () => {
  const cloud = cloudOf();
  const target = TARGETS.put(cloud);
  const size = (2 << 20) + 512;
  await runClock(
    (async () => {
      await target.open({ outputSize: size, ascending: true });
      await target.hole(0, size);
      await target.close();
    })(),
  );
  expect(objectIn(cloud)?.equals(Buffer.alloc(size))).toBe(true);
});

test.each([
  'Content-Type',
  'content-type',
  'CONTENT-TYPE',
])('headers of the caller are sent, and %s replaces the type', async (name) => {
  const cloud = cloudOf();
  const headers = async () => ({ 'X-Token': 'fresh', [name]: 'application/x-raw-disk' });
  await runClock(upload(TARGETS.put(cloud, { headers }), DISK));
  expect(cloud.asked[0]!.headers).toMatchObject({ 'x-token': 'fresh', 'content-type': 'application/x-raw-disk' });
});

const settle = () => vi.advanceTimersByTimeAsync(10);
const PIECE = new Uint8Array(512);

/** A target that is open, whose PUT is read and answered by the test. HEAD finds an object of the size that was sent. */
async function opened(options: UploadOptions = {}, plan: TargetPlan = UNKNOWN) {
  let answer: (response: Response) => void = () => {};
  let body!: ReadableStream<Uint8Array>;
  const fetch = async (_: unknown, init: RequestInit = {}): Promise<Response> => {
    if (init.method === 'HEAD')
      return new Response(null, { headers: { 'Content-Length': String(target.network.sent) } });
    body = init.body as ReadableStream<Uint8Array>;
    return new Promise((done) => {
      answer = done;
    });
  };
  const target: Put = TARGETS.put({ fetch }, options);
  await target.open(plan);
  await settle();
  const reader = body.getReader();
  const read = async () => (await reader.read()).value?.length;
  return { target, read, answer: (status: number) => answer(new Response(null, { status })) };
}

test('the last piece is sent when the output is closed', async () => {
  const { target, read, answer } = await opened({}, { outputSize: 1024, ascending: true });
  await target.write(0, PIECE);
  const first = read();
  let isSent = false;
  first.then(
    () => {
      isSent = true;
    },
    () => {},
  );
  await settle();
  expect(isSent).toBe(false);
  const second = target.write(512, PIECE);
  expect(await first).toBe(512);
  await second;
  const closing = target.close();
  expect(await read()).toBe(512);
  answer(201);
  await closing;
});

test.each([200, 201, 202, 204])('%i is success', async (status) => {
  const { target, read, answer } = await opened();
  const closing = failure(target.close());
  expect(await read()).toBeUndefined();
  answer(status);
  expect(await closing).toBe('nothing failed');
});

test.each<[string, (target: Put) => Promise<unknown>]>([
  ['the next piece', (target) => target.write(512, PIECE)],
  ['the end', (target) => target.close()],
])('an answer before everything was sent fails %s', async (_, next) => {
  const { target, answer } = await opened();
  await target.write(0, PIECE);
  answer(200);
  await settle();
  expect(await failure(next(target))).toMatch(/: the server answered before it had received everything$/);
});

test('what a server has stored that answered too early is named', async () => {
  const { target, answer } = await opened();
  await target.write(0, PIECE);
  answer(200);
  await settle();
  expect(await failure(target.write(512, PIECE))).toMatch(/before it had received everything$/);
  const left = await runClock(target.abort(new Error('over')).catch((thrown: unknown) => thrown));
  expect(left).toMatchObject({ code: 'object-completed' });
});

test('an answer while the last piece is being sent is too early where no size was stated', async () => {
  const { target, read, answer } = await opened();
  await target.write(0, PIECE);
  const closing = failure(target.close());
  answer(200);
  await settle();
  await read();
  expect(await closing).toMatch(/: the server answered before it had received everything$/);
});

test('a refusal in the middle rejects the next write', async () => {
  const { target, answer } = await opened();
  await target.write(0, PIECE);
  answer(413);
  await settle();
  expect(await failure(target.write(512, PIECE))).toMatch(/: the server answered 413; the file is too large for it$/);
});

test('a server that reads nothing fails after the time-out', async () => {
  const { target } = await opened({ timeout: 2, patience: 20 });
  await target.write(0, PIECE);
  const before = performance.now();
  // Streams may take a piece ahead.
  const writing = (async () => {
    for (let at = 512; ; at += 512) await target.write(at, PIECE);
  })();
  expect(await runClock(failure(writing))).toMatch(/: no progress for 2 seconds$/);
  expect(performance.now() - before).toBe(2000);
});

test('a server that reads nothing is reported after five seconds, one that reads is not', async () => {
  const { target, read } = await opened();
  for (let at = 0; at < 60; at += 1) {
    await Promise.all([target.write(512 * at, PIECE), at > 0 && read()]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(target.network.waiting).toBeUndefined();
  }
  const silent = await opened();
  await silent.target.write(0, PIECE);
  const writing = failure(
    (async () => {
      for (let at = 512; ; at += 512) await silent.target.write(at, PIECE);
    })(),
  );
  await vi.advanceTimersByTimeAsync(5000);
  expect(silent.target.network.waiting).toEqual({ host: 'cloud.test', attempt: 0 });
  expect(await runClock(writing)).toMatch(/: no progress for 30 seconds$/);
  expect(silent.target.network.waiting).toBeUndefined();
});

test('a server that has everything is waited for until patience ends', async () => {
  const { target, read } = await opened({ timeout: 2, patience: 20 });
  const closing = failure(target.close());
  await read();
  const before = performance.now();
  expect(await runClock(closing)).toMatch(/: no progress for 20 seconds$/);
  expect(performance.now() - before).toBe(20_000);
});

test('an aborted PUT never arrives as a whole', async () => {
  const cloud = cloudOf();
  const target = TARGETS.put(cloud);
  await target.open(planOf(DISK));
  await target.write(0, new Uint8Array(DISK));
  await target.abort(new Error('cancelled'));
  await settle();
  expect(cloud.objects.size).toBe(0);
});

test('a platform that converts a stream to text is refused before any request', async () => {
  const requested: string[] = [];
  vi.stubGlobal(
    'Request',
    class {
      headers = new Headers({ 'Content-Type': 'text/plain;charset=UTF-8' });
    },
  );
  const fetch = async (url: unknown) => {
    requested.push(String(url));
    return new Response();
  };
  const target = new Put(requestsTo({ fetch }), new URL('https://cloud.test/put/disk'), {});
  expect(await failure(target.open(UNKNOWN))).toMatch(/^This browser cannot stream a PUT/);
  expect(requested).toEqual([]);
});

test.each<[string, string, Record<string, string>, boolean]>([
  ['the ETag of the response', '"a"', {}, true],
  ['it, weakened', 'W/"a"', {}, true],
  ['another ETag', '"b"', {}, false],
  ['another ETag, since HEAD is encoded', '"a-gzip"', { 'Content-Encoding': 'gzip' }, true],
])('an object with %s', async (_, ETag, headers, isRight) => {
  const { fetch } = cloudOf();
  const named: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    const own = new Headers(response.headers);
    own.set('ETag', init?.method === 'HEAD' ? ETag : '"a"');
    for (const [name, value] of init?.method === 'HEAD' ? Object.entries(headers) : []) own.set(name, value);
    return new Response(null, { status: response.status, headers: own });
  };
  const message = isRight ? 'nothing failed' : 'the object on the server is not the one that was uploaded';
  expect(await runClock(failure(upload(TARGETS.put({ fetch: named }), DISK)))).toContain(message);
});
