// Multipart uploads to S3: requests, parts, and an object whose completion is uncertain.

import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Asked, Cloud, CloudOptions } from '../../e2e/support/cloud.js';
import { resultOf } from '../../e2e/support/upload-protocols.js';
import { s3Target } from './index.js';
import { S3 } from './s3.js';
import { methodAndQuery } from './s3-sign.js';
import { OTHER_SENDER as OTHERS } from './upload-errors.js';
import type { S3Request, UploadOptions } from './upload-options.js';
import {
  cloudOf,
  DISK,
  failure,
  objectIn,
  PART,
  planOf,
  requestsTo,
  runClock,
  s3Over,
  upload,
} from './uploads.test-support.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const uploading = (target: ReturnType<typeof s3Over>, disk = DISK, plan = planOf(disk)) =>
  runClock(failure(upload(target, disk, plan)));

const isCompletion = ({ method, url }: Pick<Asked, 'method' | 'url'>): boolean =>
  method === 'POST' && url.includes('uploadId');

test('each request is signed by its action', async () => {
  const cloud = cloudOf();
  const seen: string[] = [];
  const sign = async (request: S3Request) => {
    const part = request.action === 'part' && request.partNumber;
    seen.push([request.action, 'uploadId' in request && 'uploadId', part].filter(Boolean).join(' '));
    return `https://cloud.test/s3/disk?${methodAndQuery(request).query}`;
  };
  const protocol = new S3(requestsTo(cloud), sign, undefined, () => PART);
  expect(await protocol.begin(planOf(DISK))).toBe(PART);
  const digest = async () => createHash('md5').update(DISK).digest();
  const part = {
    number: 0,
    offset: 0,
    size: DISK.length,
    body: new Uint8Array(DISK),
    isLast: true,
    written: 0,
    digest,
  };
  await runClock(protocol.part(part));
  await runClock(protocol.complete());
  expect(seen).toEqual(['create', 'part uploadId 1', 'complete uploadId']);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test('an upload that fails is aborted by a signed request', async () => {
  const cloud = cloudOf({ fault: (number) => (number === 3 ? 'status 403' : undefined) });
  const signed: string[] = [];
  await uploading(s3Over(cloud, { signed }));
  expect(signed.at(-1)).toBe('abort');
  expect(cloud.begun.size).toBe(0);
});

test('an empty output is one empty part', async () => {
  const cloud = cloudOf();
  expect(await uploading(s3Over(cloud), Buffer.alloc(0))).toBe('nothing failed');
  expect(objectIn(cloud)).toEqual(Buffer.alloc(0));
});

test('an output of zeros only is sent', async () => {
  const cloud = cloudOf();
  expect(await uploading(s3Over(cloud), Buffer.alloc(3 * PART + 512))).toBe('nothing failed');
  expect(objectIn(cloud)).toEqual(Buffer.alloc(3 * PART + 512));
});

test('at most four parts are in flight', async () => {
  const cloud = cloudOf();
  let [underWay, most] = [0, 0];
  cloud.before = async ({ method }) => {
    if (method !== 'PUT') return;
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((done) => setTimeout(done, 1000));
    underWay -= 1;
  };
  const disk = Buffer.concat([DISK, DISK, DISK]);
  expect(await uploading(s3Over(cloud), disk)).toBe('nothing failed');
  expect(most).toBe(4);
  expect(objectIn(cloud)?.equals(disk)).toBe(true);
});

test.each([
  [64 << 20, 4],
  [128 << 20, 2],
  [256 << 20, 1],
  [512 << 20, 1],
])('parts of %i bytes: %i under way at once', async (size, expected) => {
  const held: (() => void)[] = [];
  const cloud = cloudOf();
  cloud.before = ({ method }) => (method === 'PUT' ? new Promise<void>((done) => held.push(done)) : undefined);
  const requests = requestsTo(cloud);
  const protocol = new S3(
    requests,
    async (request) => `https://cloud.test/s3/disk?${methodAndQuery(request).query}`,
    undefined,
    () => size,
  );
  await protocol.begin(planOf(DISK));
  const body = new Uint8Array(8);
  const parts = Array.from({ length: 6 }, (_, number) => ({
    number,
    offset: 0,
    size: 8,
    body,
    isLast: false,
    written: 0,
    digest: async () => new Uint8Array(16),
  }));
  const work = (async () => {
    for (const part of parts) await protocol.part(part);
  })();
  await vi.advanceTimersByTimeAsync(100);
  expect(held).toHaveLength(expected);
  requests.stop();
  await failure(work);
});

test('a part that arrives damaged is sent again', async () => {
  const cloud = cloudOf({ damages: (number) => number === 2 });
  expect(await uploading(s3Over(cloud))).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  expect(cloud.asked).toHaveLength(8);
});

test('a part that arrives damaged three times is refused', async () => {
  const cloud = cloudOf({ damages: (number) => number > 0 });
  expect(await uploading(s3Over(cloud))).toMatch(/: the server stored other bytes than were sent$/);
  expect(cloud.asked.filter(({ url }) => url.includes('partNumber=1&'))).toHaveLength(3);
  expect(cloud.objects.size).toBe(0);
  expect(cloud.begun.size).toBe(0);
});

test('ETags that are not digests are not compared, and listed unchanged', async () => {
  const cloud = cloudOf();
  const listed: string[] = [];
  const etags = async (url: string | URL | Request, init: RequestInit = {}) => {
    const response = await cloud.fetch(url, init);
    if (init.method === 'HEAD') return new Response(null, { headers: { 'Content-Length': String(DISK.length) } });
    if (isCompletion({ method: init.method!, url: String(url) })) {
      for (const [, etag] of String(init.body).matchAll(/<ETag>([^<]*)</g)) listed.push(etag!);
      return new Response(resultOf('"anything"'));
    }
    if (init.method !== 'PUT') return response;
    const number = new URL(String(url)).searchParams.get('partNumber');
    return new Response(null, { headers: { ETag: `"<&${number}"` } });
  };
  expect(await uploading(s3Over({ fetch: etags }))).toBe('nothing failed');
  expect(listed).toEqual([1, 2, 3, 4, 5].map((part) => `&quot;&lt;&amp;${part}&quot;`));
});

/** The answers to a completion, by their status, the S3 code and the message. */
const REFUSALS = [
  [200, 'InvalidPart', 'One or more of the specified parts could not be found.'],
  [400, 'InvalidPart', 'One or more of the specified parts could not be found.'],
  [400, 'EntityTooSmall', 'Your proposed upload is smaller than the minimum.'],
  [403, 'AccessDenied', 'Access Denied'],
  [200, 'AccessDenied', 'Access Denied'],
  [404, 'NoSuchUpload', 'The specified upload does not exist.'],
] as const;

test.each(
  REFUSALS,
)('a completion that is answered %i %s fails with the words of S3, at once', async (status, code, words) => {
  const body = `<Error><Code>${code}</Code><Message>${words}</Message></Error>`;
  const cloud = cloudOf({ answer: (asked) => (isCompletion(asked) ? { status, body } : undefined) });
  const thrown = await runClock(upload(s3Over(cloud), DISK).catch((thrown: unknown) => thrown));
  expect(thrown).toMatchObject({
    code: 'http-status',
    fields: { status, serverCode: code, host: 'cloud.test' },
    message: expect.stringContaining(`${code}: ${words}`),
  });
  expect(cloud.asked.filter(isCompletion)).toHaveLength(1);
  expect(cloud.begun.size).toBe(0);
});

test.each([
  [200, 'InternalError'],
  [500, 'InternalError'],
  [200, 'SlowDown'],
  [400, 'RequestTimeout'],
  [200, 'ServiceUnavailable'],
  [409, 'OperationAborted'],
])('a completion that is answered %i %s is asked for again', async (status, code) => {
  let failures = 3;
  const cloud = cloudOf({
    answer: (asked) => {
      if (!isCompletion(asked) || failures === 0) return undefined;
      failures -= 1;
      return { status, body: `<Error xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Code>${code}</Code></Error>` };
    },
  });
  expect(await uploading(s3Over(cloud))).toBe('nothing failed');
  expect(cloud.asked.filter(isCompletion)).toHaveLength(4);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test('a server that never confirms the completion has no object', async () => {
  const cloud = cloudOf({ answer: (asked) => (isCompletion(asked) ? { status: 200, body: '<html>' } : undefined) });
  const thrown = await runClock(upload(s3Over(cloud, { patience: 60 }), DISK).catch((thrown: unknown) => thrown));
  expect(thrown).toMatchObject({
    code: 'upload-incomplete',
    fields: { host: 'cloud.test' },
    message: expect.stringMatching(/: the server does not confirm that it has completed the upload$/),
  });
  expect(cloud.objects.size).toBe(0);
  expect(cloud.begun.size).toBe(0);
});

test('the start needs the same CORS rules as the completion', async () => {
  const cloud = cloudOf();
  await uploading(s3Over(cloud));
  for (const { headers } of [cloud.asked[0]!, cloud.asked.at(-1)!]) expect(headers['content-type']).toBeDefined();
});

test('without digests in ETags, a new object of the right size is found after a lost response', async () => {
  const [before, after] = ['Thu, 26 Nov 2026 07:00:00 GMT', 'Thu, 26 Nov 2026 07:30:00 GMT'];
  for (const [changed, isRight] of [
    [after, true],
    [before, false],
  ] as const) {
    const head = { 'Content-Length': String(DISK.length), 'Last-Modified': changed, ETag: '"none"' };
    const cloud = losingCompletion({
      headers: { 'x-amz-server-side-encryption': 'aws:kms', Date: after },
      answer: ({ method }) => (method === 'HEAD' ? { status: 200, headers: head } : undefined),
    });
    expect(await uploading(s3Over(cloud))).toMatch(isRight ? /^nothing failed$/ : /the upload may have been completed/);
  }
});

test('with digests in ETags, a new object of one PUT is not taken for the upload', async () => {
  const date = 'Thu, 26 Nov 2026 07:00:00 GMT';
  const head = { 'Content-Length': String(DISK.length), 'Last-Modified': date, ETag: `"${'0'.repeat(32)}"` };
  const answer = ({ method }: Asked) => (method === 'HEAD' ? { status: 200, headers: head } : undefined);
  const work = runClock(upload(s3Over(losingCompletion({ headers: { Date: date }, answer })), DISK));
  await expect(work).rejects.toMatchObject({ code: 'upload-uncertain' });
});

test('a new object that nothing identifies is unconfirmed after a lost response', async () => {
  const date = 'Thu, 26 Nov 2026 07:00:00 GMT';
  const head = { 'Content-Length': String(DISK.length), 'Last-Modified': date };
  const answer = ({ method }: Asked) => (method === 'HEAD' ? { status: 200, headers: head } : undefined);
  expect(await runClock(upload(s3Over(losingCompletion({ headers: { Date: date }, answer })), DISK))).toEqual({
    unconfirmed: expect.stringContaining('its response was lost'),
  });
});

test('a response without an ETag is an error', async () => {
  const cloud = cloudOf({ answer: ({ method }) => (method === 'PUT' ? { status: 200 } : undefined) });
  expect(await uploading(s3Over(cloud))).toContain(`its response (200) has no ETag; ${OTHERS}`);
});

test('a response without an upload ID is an error', async () => {
  const cloud = cloudOf({ answer: () => ({ status: 200, body: '<html>' }) });
  expect(await uploading(s3Over(cloud))).toContain(`the server does not state an upload ID; ${OTHERS}`);
});

test('an error in the response to the completion is retried', async () => {
  let failures = 2;
  const cloud = cloudOf({
    answer: (asked) => {
      if (!isCompletion(asked) || failures === 0) return undefined;
      failures -= 1;
      return { status: 200, body: '<Error>\n<Code>InternalError</Code></Error>' };
    },
  });
  expect(await uploading(s3Over(cloud))).toBe('nothing failed');
  expect(cloud.asked.filter(isCompletion)).toHaveLength(3);
});

test('an error in every response to the completion is reported', async () => {
  const body = '<Error><Code>InternalError</Code></Error>';
  const cloud = cloudOf({ answer: (asked) => (isCompletion(asked) ? { status: 200, body } : undefined) });
  const thrown = await runClock(upload(s3Over(cloud), DISK).catch((thrown: unknown) => thrown));
  expect(thrown).toMatchObject({
    code: 'http-status',
    fields: { status: 200, serverCode: 'InternalError', host: 'cloud.test' },
    message: expect.stringMatching(/: the server answered 200 with an error \(InternalError\)$/),
  });
  expect(cloud.begun.size).toBe(0);
});

test.each([
  ['create', ({ url }: Asked) => url.includes('uploads=')],
  ['part', ({ url }: Asked) => url.includes('partNumber=2')],
])('a transient error in a response of status 200 to %s is retried', async (_, isFailing) => {
  let failures = 2;
  const cloud = cloudOf({
    answer: (asked) => {
      if (!isFailing(asked) || failures === 0) return undefined;
      failures -= 1;
      return { status: 200, body: '<?xml version="1.0"?>\n<Error><Code>SlowDown</Code></Error>' };
    },
  });
  const target = s3Over(cloud);
  expect(await uploading(target)).toBe('nothing failed');
  expect(target.network).toMatchObject({ sent: DISK.length + (cloud.asked.at(-1)?.length ?? 0), retries: 2 });
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test('a lasting error in a response of status 200 to a part is reported', async () => {
  const answer = ({ url }: Asked) =>
    url.includes('partNumber=2') ? { status: 200, body: '<Error><Code>AccessDenied</Code></Error>' } : undefined;
  const cloud = cloudOf({ answer });
  const thrown = await runClock(upload(s3Over(cloud), DISK).catch((thrown: unknown) => thrown));
  expect(thrown).toMatchObject({ code: 'http-status', fields: { status: 200, serverCode: 'AccessDenied' } });
  expect(cloud.begun.size).toBe(0);
});

/** A cloud that loses its first answer to a completion. What `answer` returns comes first. */
function losingCompletion(options: CloudOptions = {}): Cloud {
  let losses = 1;
  const fault = (_: number, asked: Asked) => {
    if (!isCompletion(asked) || losses === 0) return undefined;
    losses -= 1;
    return 'lost answer';
  };
  return cloudOf({ fault, ...options });
}

test('after a lost response to the completion, the object is checked', async () => {
  const signed: string[] = [];
  expect(await uploading(s3Over(losingCompletion(), { signed }))).toBe('nothing failed');
  expect(signed.slice(-3)).toEqual(['part', 'complete', 'head']);
});

test.each([
  [
    'an older object has the name',
    `"${'0'.repeat(32)}-5"`,
    {},
    /: the object on the server is not the one that was uploaded$/,
  ],
  ['an object of one PUT has the name', `"${'0'.repeat(32)}"`, {}, /: the upload may have been completed/],
  ['nothing is said of the object', undefined, {}, /: the upload may have been completed/],
  [
    'ETags are no digests, and an older object has as many parts',
    `"${'0'.repeat(32)}-5"`,
    { 'x-amz-server-side-encryption': 'aws:kms' },
    /: the upload may have been completed/,
  ],
])('where the answer to the completion is lost and %s: an error', async (_, etag, headers, sentence) => {
  const found = { status: 200, headers: etag === undefined ? {} : { ETag: etag } };
  const cloud = losingCompletion({ headers, answer: ({ method }) => (method === 'HEAD' ? found : undefined) });
  expect(await uploading(s3Over(cloud))).toMatch(sentence);
});

test('an object of other parts is not a success', async () => {
  const body = resultOf(`"${'0'.repeat(32)}-5"`);
  const cloud = cloudOf({ answer: (asked) => (isCompletion(asked) ? { status: 200, body } : undefined) });
  expect(await uploading(s3Over(cloud))).toMatch(/: the object on the server is not the one that was uploaded$/);
});

test('404 at the first completion is not a success', async () => {
  const cloud = cloudOf({ fault: (_, asked) => (isCompletion(asked) ? 'status 404' : undefined) });
  expect(await uploading(s3Over(cloud))).toMatch(/the server answered 404/);
});

test('a cloud that shows that it is still completing the object is waited for', async () => {
  const cloud = cloudOf();
  let completions = 0;
  let waiting: unknown;
  const fetch = async (url: string | URL | Request, init: RequestInit = {}) => {
    if (init.method === 'HEAD') return new Response(null, { headers: { 'Content-Length': String(DISK.length) } });
    if (!isCompletion({ method: init.method!, url: String(url) })) return cloud.fetch(url, init);
    completions += 1;
    let spaces = 40;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      await new Promise((done) => setTimeout(done, 900));
      spaces -= 1;
      if (spaces === 1) waiting = target.network!.waiting;
      controller.enqueue(new TextEncoder().encode(spaces > 0 ? ' ' : resultOf('')));
      if (spaces === 0) controller.close();
    };
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
  };
  const target = s3Over({ fetch }, { timeout: 1 });
  expect(await uploading(target)).toBe('nothing failed');
  expect(completions).toBe(1);
  expect(waiting).toEqual({ host: 'cloud.test', attempt: 0, completing: true });
});

/** The failure of an upload whose `sign` is this, and how often it was called; a server that never answers has no part in it. */
async function signedBy(sign: (request: S3Request) => unknown, options: UploadOptions = {}) {
  const cloud = cloudOf();
  let calls = 0;
  const counted = (request: S3Request) => {
    calls += 1;
    return sign(request) as string;
  };
  const target = s3Target({ sign: counted, fetch: cloud.fetch, ...options });
  const failed = await runClock(failure(upload(target, DISK)));
  return { failed, calls, cloud };
}
const rightly = (request: S3Request) => `https://cloud.test/s3/disk?${methodAndQuery(request).query}`;

test('a sign that never settles is retried, then fails', async () => {
  const { failed, calls } = await signedBy(() => new Promise(() => {}), { timeout: 2 });
  expect(failed).toBe("Could not upload: 'sign' or 'headers' did not settle within 2 seconds");
  expect(calls).toBe(3);
});

test('a sign that once does not settle costs one attempt', async () => {
  let isHeld = true;
  const { failed, cloud } = await signedBy((request) => {
    if (!isHeld || request.action !== 'part') return rightly(request);
    isHeld = false;
    return new Promise(() => {});
  });
  expect(failed).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test.each<[string, unknown]>([
  ['undefined', undefined],
  ['a text', 'not signed'],
  ['an answer', { url: 'https://cloud.test/' }],
])('a sign that gives %s is asked once', async (_, given) => {
  const { failed, calls, cloud } = await signedBy(async () => given);
  expect(failed).toMatch(/: 'sign' must resolve to a URL, but resolved to a/);
  expect(calls).toBe(1);
  expect(cloud.asked).toEqual([]);
});

test('a sign without a network is retried', async () => {
  let failures = 2;
  const { failed, cloud } = await signedBy((request) => {
    failures -= 1;
    if (failures >= 0) throw new TypeError('Failed to fetch');
    return rightly(request);
  });
  expect(failed).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test('user and password of a signed URL are sent as a header', async () => {
  const { failed, cloud } = await signedBy((request) => rightly(request).replace('//', '//me:pass@'));
  expect(failed).toBe('nothing failed');
  expect(new Set(cloud.asked.map(({ headers }) => headers.authorization))).toEqual(
    new Set([`Basic ${btoa('me:pass')}`]),
  );
});

test('a request is described only by its action', async () => {
  const seen = new Map<string, S3Request>();
  const { failed } = await signedBy((request) => {
    seen.set(request.action, request);
    return rightly(request);
  });
  expect(failed).toBe('nothing failed');
  const uploadId = expect.any(String);
  expect([...seen.values()]).toEqual([
    { action: 'create' },
    { action: 'part', uploadId, partNumber: 1 },
    { action: 'complete', uploadId },
  ]);
});
