// Resumable uploads to Google Cloud Storage.

import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Asked, CloudOptions } from '../../e2e/support/cloud.js';
import { Gcs } from './gcs.js';
import { OTHER_SENDER as OTHERS } from './upload-errors.js';
import {
  cloudOf,
  DISK,
  failure,
  objectIn,
  PART,
  planOf,
  requestsTo,
  runClock,
  TARGETS,
  upload,
} from './uploads.test-support.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const uploading = (options: CloudOptions, disk = DISK, plan = planOf(disk)) => {
  const cloud = cloudOf(options);
  return { cloud, work: runClock(failure(upload(TARGETS.gcs(cloud), disk, plan))) };
};
const failing = (options: CloudOptions) => uploading(options).work;
const isChunk = ({ method }: Asked) => method === 'PUT';
/** Whether it is the last chunk, which states the size. */
const isLast = ({ headers }: Asked) => /\/\d+$/.test(headers['content-range'] ?? '');

test('chunks state their offsets, and the last one the size', async () => {
  const { cloud, work } = uploading({});
  expect(await work).toBe('nothing failed');
  expect(cloud.asked.map(({ method, headers }) => [method, headers['content-range']])).toEqual([
    ['POST', undefined],
    ['PUT', 'bytes 0-4095/*'],
    ['PUT', 'bytes 4096-8191/*'],
    ['PUT', 'bytes 8192-12287/*'],
    ['PUT', 'bytes 12288-16383/*'],
    ['PUT', 'bytes 16384-16895/16896'],
  ]);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test.each([
  ['nothing', Buffer.alloc(0)],
  ['less than a chunk', DISK.subarray(0, 100)],
  ['a chunk exactly', DISK.subarray(0, PART)],
])('an output of %s', async (_, disk) => {
  const { cloud, work } = uploading({}, disk);
  expect(await work).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(disk)).toBe(true);
});

test('after a chunk of which half has arrived, the other half is sent', async () => {
  const { cloud, work } = uploading({ fault: (number) => (number === 2 ? 'cut' : undefined) });
  expect(await work).toBe('nothing failed');
  const ranges = cloud.asked.slice(2, 5).map(({ headers }) => headers['content-range']);
  expect(ranges).toEqual(['bytes 4096-8191/*', 'bytes */*', 'bytes 6144-8191/*']);
});

test.each([302, 303, 307])('a chunk that is redirected by %i is not sent elsewhere', async (status) => {
  const { cloud, work } = uploading({
    answer: (asked) =>
      isChunk(asked) && isLast(asked) ? { status, headers: { Location: 'https://elsewhere.test/login' } } : undefined,
  });
  expect(await work).toContain('the server redirects');
  expect(cloud.objects.size).toBe(0);
  expect(cloud.begun.size).toBe(0);
});

test('an upload that the server calls complete before it is', async () => {
  const answer = (asked: Asked) => (isChunk(asked) ? { status: 200 } : undefined);
  expect(await failing({ answer })).toContain('the server calls the upload complete too early');
});

test('a server that never states its offset is asked three times', async () => {
  const { cloud, work } = uploading({ answer: (asked) => (isChunk(asked) ? { status: 308 } : undefined) });
  expect(await work).toContain(
    `the server does not state how much it has received: its response (308) has no Range; ${OTHERS}`,
  );
  expect(cloud.asked.filter(isChunk)).toHaveLength(5);
});

test('a server that once omits its offset is asked again', async () => {
  let silences = 2;
  const { cloud, work } = uploading({
    answer: (asked) => {
      if (!isChunk(asked) || silences === 0) return undefined;
      silences -= 1;
      return { status: 308 };
    },
  });
  expect(await work).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test.each([
  ['less than it had', 'bytes=0-99', /the server has 100 bytes, but 4096 to 8192 were sent$/],
  ['more than was sent', 'bytes=0-9999999', /the server has 10000000 bytes, but 4096 to 8192 were sent$/],
  ['no number', 'bytes=0-', /the server does not state how much it has received: its header Range is 'bytes=0-'/],
  ['words', 'lots', /its header Range is 'lots'; another kind of server/],
])('a server that has %s', async (_, range, sentence) => {
  const answer = ({ headers }: Asked) =>
    headers['content-range']?.startsWith('bytes 4096-') ? { status: 308, headers: { Range: range } } : undefined;
  expect(await failing({ answer })).toMatch(sentence);
});

const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest('base64');
test.each<[string, string, Record<string, string>, boolean]>([
  ['the size and the digest', `{ "size": "${DISK.length}", "md5Hash": "${md5(DISK)}" }`, {}, true],
  ['the digest in a header', '', { 'x-goog-hash': `crc32c=AAAAAA==,md5=${md5(DISK)}` }, true],
  ['another size', `{ "size": "${DISK.length - 1}" }`, {}, false],
  ['another digest', `{ "md5Hash": "${md5(Buffer.alloc(1))}" }`, {}, false],
  ['another digest in a header', '', { 'x-goog-hash': `md5=${md5(Buffer.alloc(1))}` }, false],
])('an object of which the server says %s', async (_, body, headers, isRight) => {
  const answer = (asked: Asked) => (isChunk(asked) && isLast(asked) ? { status: 200, body, headers } : undefined);
  const sentence = /the object on the server is not the one that was uploaded$/;
  expect(await failing({ answer })).toMatch(isRight ? /^nothing failed$/ : sentence);
});

test.each<[string, string, Record<string, string>, string]>([
  [
    'says nothing, and neither does the session',
    '',
    {},
    'the server completed the upload, but answered 404 to HEAD: it has no object',
  ],
  ['is a page', '<html>', {}, 'the response that calls the upload complete is not from Google'],
])('an answer to the last chunk that %s: not done', async (_, body, headers, sentence) => {
  const answer = (asked: Asked) => (isChunk(asked) && isLast(asked) ? { status: 200, body, headers } : undefined);
  const { cloud, work } = uploading({ answer });
  expect(await work).toContain(sentence);
  // Each time, the session is queried.
  expect(cloud.asked.filter(({ headers }) => headers['content-range'] === `bytes */${DISK.length}`)).not.toEqual([]);
});

test('a captive portal answers the last chunk once: the session is asked, and the chunk is retried', async () => {
  let isMet = false;
  const { cloud, work } = uploading({
    answer: (asked) => {
      if (isMet || !isLast(asked)) return undefined;
      isMet = true;
      return { status: 200, body: '<html>Sign in</html>' };
    },
  });
  expect(await work).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  const last = cloud.asked.slice(-3).map(({ headers }) => headers['content-range']);
  expect(last).toEqual(['bytes 16384-16895/16896', 'bytes */16896', 'bytes 16384-16895/16896']);
});

test('a session that has all bytes and does not complete is asked until patience ends', async () => {
  const answer = (asked: Asked) =>
    isLast(asked) ? { status: 308, headers: { Range: `bytes=0-${DISK.length - 1}` } } : undefined;
  expect(await failing({ answer })).toContain('the server has all bytes, but has not completed the upload');
});

test('a response without the URL of the session', async () => {
  const answer = ({ method }: Asked) => (method === 'POST' ? { status: 201 } : undefined);
  expect(await failing({ answer })).toContain(
    `does not state the URL of the upload: its response (201) has no Location; ${OTHERS}`,
  );
});

test('a disk larger than the limit of an object is refused before the first request', async () => {
  const { cloud, work } = uploading({}, DISK, { ...planOf(DISK), outputSize: 5 * 2 ** 40 + 1 });
  expect(await work).toBe('An object can have at most 5497558138880 bytes, not 5497558138881');
  expect(cloud.asked).toEqual([]);
});

const MD5 = `md5=${createHash('md5').update(DISK).digest('base64')}`;

test('requests that may complete the object have its digest', async () => {
  let isLost = true;
  const { cloud, work } = uploading({
    fault(_, asked) {
      if (!isLast(asked) || !isLost) return undefined;
      isLost = false;
      return 'drop';
    },
  });
  expect(await work).toBe('nothing failed');
  const chunks = cloud.asked.slice(1).map(({ headers }) => [headers['content-range'], headers['x-goog-hash']]);
  expect(chunks).toEqual([
    ...[0, 1, 2, 3].map((number) => [`bytes ${number * PART}-${(number + 1) * PART - 1}/*`, undefined]),
    ...['16384-16895', '*', '16384-16895'].map((range) => [`bytes ${range}/16896`, MD5]),
  ]);
});

test.each([1, 3, 5])('a byte of request %i changes on the way: the existing object stays', async (damaged) => {
  const { cloud, work } = uploading({ damages: (number) => number === damaged });
  const existing = Buffer.from('the existing object');
  cloud.objects.set('/gcs/disk', existing);
  expect(await work).toMatch(/^Could not upload to '[^']*': the server received other bytes than were sent$/);
  expect(objectIn(cloud)).toBe(existing);
  expect(cloud.begun.size).toBe(0);
});

test('a page whose bucket does not allow the digest uploads without it', async () => {
  vi.stubGlobal('document', {});
  vi.stubGlobal('location', new URL('https://page.test/'));
  const { cloud, work } = uploading({
    fault: (_, { headers }) => (headers['x-goog-hash'] === undefined ? undefined : 'drop'),
  });
  expect(await work).toBe('nothing failed');
  vi.unstubAllGlobals();
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  expect(cloud.asked.filter(({ headers }) => headers['x-goog-hash'] === MD5)).toHaveLength(3);
});

test('outside of pages, the digest is never left out', async () => {
  const { cloud, work } = uploading({
    fault: (_, { headers }) => (headers['x-goog-hash'] === undefined ? undefined : 'drop'),
  });
  expect(await work).toContain('no answer came from');
  expect(cloud.objects.size).toBe(0);
});

/** The requests of an upload by a session or a place. */
async function askedBy(make: (requests: ReturnType<typeof requestsTo>) => Gcs): Promise<Asked[]> {
  const cloud = cloudOf();
  const protocol = make(requestsTo(cloud, { headers: { 'X-Token': 'secret' } }));
  expect(await protocol.begin(planOf(DISK))).toBe(16 << 20);
  return cloud.asked;
}

test('headers of the caller are sent when the session is started', async () => {
  const [asked] = await askedBy((requests) => new Gcs(requests, new URL('https://cloud.test/gcs/disk'), undefined));
  expect(asked!.headers).toMatchObject({ 'x-token': 'secret', 'x-goog-resumable': 'start' });
});

test('the interface for JSON gets no header of the one for XML', async () => {
  const cloud = cloudOf({ answer: () => ({ status: 200, headers: { Location: '/session' } }) });
  const url = new URL('https://cloud.test/gcs/disk?uploadType=resumable');
  await new Gcs(requestsTo(cloud), url, undefined).begin(planOf(DISK));
  expect(cloud.asked[0]!.headers['x-goog-resumable']).toBeUndefined();
});

test('a given session is used', async () => {
  expect(
    await askedBy((requests) => new Gcs(requests, undefined, new URL('https://cloud.test/gcs/disk?upload_id=1'))),
  ).toEqual([]);
});
