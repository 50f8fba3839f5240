// Uploads by tus.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Asked, CloudOptions, UploadFault } from '../../e2e/support/cloud.js';
import { Tus } from './tus.js';
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

const OF_UNKNOWN_SIZE = { virtualSize: DISK.length, ascending: true };
const uploading = (options: CloudOptions, disk = DISK, plan: ReturnType<typeof planOf> = planOf(disk)) => {
  const cloud = cloudOf(options);
  return { cloud, work: runClock(failure(upload(TARGETS.tus(cloud), disk, plan))) };
};
const stating = ({ headers }: Asked) => headers['upload-length'] !== undefined;

test('chunks state their offsets', async () => {
  const { cloud, work } = uploading({});
  expect(await work).toBe('nothing failed');
  expect(cloud.asked.map(({ method, headers }) => [method, headers['upload-offset']])).toEqual([
    ['POST', undefined],
    ...[0, 1, 2, 3, 4].map((part) => ['PATCH', String(part * PART)]),
    ['HEAD', undefined],
  ]);
  expect(cloud.asked[0]!.headers['upload-length']).toBe(String(DISK.length));
  expect(cloud.asked.every(({ headers }) => headers['tus-resumable'] === '1.0.0')).toBe(true);
});

test.each([
  ['a known size', planOf(Buffer.alloc(0))],
  ['an unknown size', { ascending: true }],
])('an empty output of %s', async (_, plan) => {
  const { cloud, work } = uploading({}, Buffer.alloc(0), plan);
  expect(await work).toBe('nothing failed');
  expect(objectIn(cloud)).toEqual(Buffer.alloc(0));
});

test('an unknown size is stated with the last chunk', async () => {
  const { cloud, work } = uploading({}, DISK, OF_UNKNOWN_SIZE);
  expect(await work).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  expect(cloud.asked[0]!.headers).toMatchObject({ 'upload-defer-length': '1' });
  expect(cloud.asked.filter(stating).map(({ headers }) => headers['upload-offset'])).toEqual([String(4 * PART)]);
});

test.each<UploadFault>([
  'lost answer',
  'drop',
  'cut',
  'status 503',
  'silent',
])('a size that nobody knows, %s at the last chunk: the server takes it once', async (fault) => {
  let left = 1;
  const { cloud, work } = uploading(
    {
      fault: (_, asked) => {
        if (!stating(asked) || left === 0) return undefined;
        left -= 1;
        return fault;
      },
    },
    DISK,
    OF_UNKNOWN_SIZE,
  );
  expect(await work).toBe('nothing failed');
  expect(left).toBe(0);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test.each([409, 423])('a locked file (%i) is waited for', async (status) => {
  let busy = 3;
  const { cloud, work } = uploading({
    answer: ({ method }) => {
      if (method === 'POST' || busy === 0) return undefined;
      busy -= 1;
      return { status };
    },
  });
  expect(await work).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test('a server that stores nothing of a chunk is retried with growing waits, until patience ends', async () => {
  const cloud = cloudOf({
    answer: ({ method }) => (method === 'PATCH' ? { status: 204, headers: { 'Upload-Offset': '0' } } : undefined),
  });
  const failed = await runClock(failure(upload(TARGETS.tus(cloud, { patience: 600 }), DISK)));
  expect(failed).toContain('the server stored none of the bytes that were sent');
  // Waits double up to 15 seconds.
  const patches = cloud.asked.filter(({ method }) => method === 'PATCH').length;
  expect(patches).toBeGreaterThan(40);
  expect(patches).toBeLessThan(90);
});

test('a server that has less at the end than was sent', async () => {
  const answer = ({ method }: Asked) =>
    method === 'HEAD' ? { status: 200, headers: { 'Upload-Offset': '9' } } : undefined;
  const { work } = uploading({ answer });
  expect(await work).toMatch(new RegExp(`: the server has received 9 of ${DISK.length} bytes$`));
});

/** The final response to HEAD, instead of the server's. */
const saying = (headers: Record<string, string>, status = 200) => ({
  answer: ({ method }: Asked) => (method === 'HEAD' ? { status, headers } : undefined),
});
const OFFSET = { 'Upload-Offset': String(DISK.length) };

test.each<[string, CloudOptions, RegExp]>([
  [
    'another length',
    saying({ ...OFFSET, 'Upload-Length': '17896' }),
    /: the server expects 17896 bytes instead of 16896$/,
  ],
  [
    'a length that would fill the screen, in control characters',
    saying({ ...OFFSET, 'Upload-Length': '\u0085'.repeat(5000) }),
    /: the server expects (\\u0085){16}…(\\u0085){16} bytes instead of 16896$/,
  ],
  ['no length yet', saying({ ...OFFSET, 'Upload-Defer-Length': '1' }), /did not accept the length of the file$/],
  ['no file', saying({}, 404), /answered 404/],
])('a server that has %s at the end is not done', async (_, options, sentence) => {
  for (const plan of [planOf(DISK), OF_UNKNOWN_SIZE]) {
    const cloud = cloudOf(options);
    const thrown = await runClock(upload(TARGETS.tus(cloud), DISK, plan).catch((thrown: unknown) => thrown));
    expect((thrown as Error).message).toMatch(sentence);
    expect(thrown).toMatchObject({ code: sentence.source.includes('404') ? 'http-status' : 'upload-incomplete' });
    expect(cloud.begun.size).toBe(0);
  }
});

test.each<[string, CloudOptions]>([
  ['is not allowed (403)', saying({}, 403)],
  ['is not there (405)', saying({}, 405)],
  ['does not state the length', saying(OFFSET)],
])('where HEAD %s, the upload is done and not confirmed', async (_, options) => {
  const end = await runClock(upload(TARGETS.tus(cloudOf(options)), DISK));
  expect(end).toEqual({ unconfirmed: expect.stringContaining('did not confirm that the object is complete') });
});

test('a length that the server ignores with the last chunk is sent again', async () => {
  const cloud = cloudOf();
  const fetch: typeof cloud.fetch = (url, init = {}) => {
    const headers = new Headers(init.headers);
    if ((init.body as Uint8Array | undefined)?.length) headers.delete('Upload-Length');
    return cloud.fetch(url, { ...init, headers });
  };
  expect(await runClock(upload(TARGETS.tus({ fetch }), DISK, OF_UNKNOWN_SIZE))).toEqual({});
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  expect(cloud.asked.slice(-3).map(({ method, length }) => [method, length])).toEqual([
    ['HEAD', 0],
    ['PATCH', 0],
    ['HEAD', 0],
  ]);
});

test.each([undefined, 'many', '-1', '1.5'])('a server that states the offset %s', async (offset) => {
  const headers: Record<string, string> = offset === undefined ? {} : { 'Upload-Offset': offset };
  const { work } = uploading({ answer: ({ method }) => (method === 'PATCH' ? { status: 204, headers } : undefined) });
  expect(await work).toContain(
    `the server does not state how much it has received: its response (204) has no Upload-Offset; ${OTHERS}`,
  );
});

test('a response without Location', async () => {
  const { work } = uploading({ answer: () => ({ status: 201 }) });
  expect(await work).toContain(
    `the server does not state the URL of the upload: its response (201) has no Location; ${OTHERS}`,
  );
});

test('a file that fails is removed', async () => {
  const { cloud, work } = uploading({ fault: (number) => (number === 3 ? 'status 403' : undefined) });
  expect(await work).toMatch(/403/);
  expect(cloud.asked.at(-1)!.method).toBe('DELETE');
  expect(cloud.begun.size).toBe(0);
});

test.each([
  ['https://cloud.test/tus/1', 'secret'],
  ['https://elsewhere.test/tus/1', undefined],
])('headers of the caller stay at the origin that it has named: %s', async (location, token) => {
  const seen: [string, string | null][] = [];
  const fetch = async (url: string | URL | Request, { headers, method }: RequestInit = {}) => {
    seen.push([String(url), new Headers(headers).get('x-token')]);
    if (method === 'POST') return new Response(null, { status: 201, headers: { Location: location } });
    return new Response(null, { status: 200, headers: { 'Upload-Offset': '0', 'Upload-Length': '0' } });
  };
  const requests = requestsTo({ fetch }, { headers: { 'X-Token': 'secret' } });
  const protocol = new Tus(requests, new URL('https://cloud.test/tus/files'), undefined);
  expect(await protocol.begin(planOf(DISK))).toBe(16 << 20);
  await protocol.complete();
  expect(seen).toEqual([
    ['https://cloud.test/tus/files', 'secret'],
    [location, token ?? null],
  ]);
});

test('the name of the file is metadata, in Base64 of UTF-8', async () => {
  const cloud = cloudOf();
  const protocol = new Tus(requestsTo(cloud), new URL('https://cloud.test/tus/files'), 'Größe.img');
  await protocol.begin(planOf(DISK));
  const [, name] = cloud.asked[0]!.headers['upload-metadata']!.split(' ');
  expect(Buffer.from(name!, 'base64').toString()).toBe('Größe.img');
});
