// Page blobs and block blobs of Azure.

import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Asked } from '../../e2e/support/cloud.js';
import { AzureBlob, BlockBlob, PageBlob } from './azure.js';
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

const MIB = 1 << 20;
const TIB = 2 ** 40;
const PATH = '/azure/disk';
const uploading = (
  cloud: Pick<ReturnType<typeof cloudOf>, 'fetch'>,
  kind: 'page blob' | 'block blob',
  disk = DISK,
  plan = planOf(disk),
) => runClock(failure(upload(TARGETS[kind](cloud), disk, plan)));
const ranges = ({ asked }: { asked: Asked[] }) =>
  asked.flatMap(({ headers }) => headers['x-ms-range']?.replace('bytes=', '') ?? []);

test.each([
  'page blob',
  'block blob',
] as const)('%s: each request has the version, the signature and a digest', async (kind) => {
  const cloud = cloudOf();
  const digests: (string | undefined)[] = [];
  const bodies: string[] = [];
  const fetch = (url: string | URL | Request, init: RequestInit = {}) => {
    if (init.body instanceof Uint8Array) {
      digests.push(new Headers(init.headers).get('content-md5')!);
      bodies.push(createHash('md5').update(init.body).digest('base64'));
    }
    return cloud.fetch(url, init);
  };
  expect(await runClock(failure(upload(TARGETS[kind]({ fetch }), DISK)))).toBe('nothing failed');
  expect(digests).toEqual(bodies);
  // A block blob has a list, too.
  expect(digests).toHaveLength(kind === 'block blob' ? 6 : 5);
  for (const { url, headers } of cloud.asked) {
    expect(url).toContain('sig=secret');
    expect(headers['x-ms-version']).toBe('2021-12-02');
  }
});

test.each(['page blob', 'block blob'] as const)('%s: bytes that arrive damaged are refused', async (kind) => {
  const cloud = cloudOf({ damages: (number) => number === 2 });
  expect(await uploading(cloud, kind)).toMatch(/the server answered 400 \(Md5Mismatch: No\)$/);
  expect(cloud.objects.size).toBe(0);
});

test('page blob: holes are not sent, and the end comes last', async () => {
  const cloud = cloudOf();
  expect(await uploading(cloud, 'page blob')).toBe('nothing failed');
  expect(ranges(cloud)).toEqual(['0-2047', '4096-6143', '8192-10239', '12288-14335', '16384-16895']);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test('page blob: the end is sent after everything else has arrived', async () => {
  const cloud = cloudOf();
  const held: (() => void)[] = [];
  cloud.before = ({ headers }) =>
    headers['x-ms-range'] === undefined ? undefined : new Promise<void>((done) => held.push(done));
  const work = failure(upload(TARGETS['page blob'](cloud), DISK));
  await vi.advanceTimersByTimeAsync(100);
  expect(held).toHaveLength(4);
  for (const go of held.slice(0, 3)) go();
  await vi.advanceTimersByTimeAsync(100);
  expect(held).toHaveLength(4);
  held[3]!();
  await vi.advanceTimersByTimeAsync(100);
  expect(held).toHaveLength(5);
  held[4]!();
  expect(await work).toBe('nothing failed');
});

test('page blob: contiguous writes are joined, up to 4 MiB', async () => {
  const cloud = cloudOf();
  const size = 9 * MIB + 512;
  const target = TARGETS['page blob'](cloud);
  const disk = Buffer.alloc(size, 'data');
  await runClock(
    (async () => {
      await target.open({ outputSize: size, ascending: true });
      for (let at = 0; at < size; at += MIB) await target.write(at, new Uint8Array(disk.subarray(at, at + MIB)));
      await target.close();
    })(),
  );
  expect(ranges(cloud)).toEqual(['0-4194303', '4194304-8388607', '8388608-9437695']);
  expect(objectIn(cloud)?.equals(disk)).toBe(true);
});

test('page blob: an existing one stays unchanged', async () => {
  const cloud = cloudOf();
  const there = Buffer.from('of somebody else');
  cloud.objects.set(PATH, there);
  expect(await uploading(cloud, 'page blob')).toMatch(
    /: a blob with this name exists; remove it, or choose another name$/,
  );
  expect(objectIn(cloud)).toBe(there);
  expect(cloud.asked.map(({ method }) => method)).toEqual(['PUT', 'HEAD']);
});

test('page blob: one that was created by a request whose response was lost is used', async () => {
  const cloud = cloudOf({ fault: (number) => (number === 0 ? 'lost answer' : undefined) });
  expect(await uploading(cloud, 'page blob')).toBe('nothing failed');
  expect(cloud.asked.slice(0, 3).map(({ method }) => method)).toEqual(['PUT', 'PUT', 'HEAD']);
});

test('page blob: one of a killed upload is taken over', async () => {
  const cloud = cloudOf();
  const killed = TARGETS['page blob'](cloud);
  await runClock(killed.open(planOf(DISK)));
  await killed.write(0, new Uint8Array(512).fill(9));
  await killed.write(8192, new Uint8Array(512).fill(9));
  await vi.advanceTimersByTimeAsync(10);
  expect(objectIn(cloud)![0]).toBe(9);
  expect(await uploading(cloud, 'page blob')).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  // If it continued, the server would refuse its pages, and it would not remove a blob of another upload.
  expect(await runClock(failure(killed.close()))).toContain('SequenceNumberConditionNotMet');
  expect(await runClock(failure(killed.abort()))).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test.each([
  ['it was made', 'lost answer', 0],
  ['somebody else has made it', 'drop', 1],
] as const)('page blob: a cancel when no answer says so, and %s', async (_, fault, left) => {
  const cloud = cloudOf({ fault: () => fault });
  const target = TARGETS['page blob'](cloud);
  const opening = failure(target.open(planOf(DISK)));
  await vi.advanceTimersByTimeAsync(10);
  cloud.options.fault = () => undefined;
  if (left) cloud.objects.set(PATH, Buffer.from('of somebody else'));
  await runClock(target.abort());
  expect(await opening).not.toBe('nothing failed');
  expect(cloud.objects.size).toBe(left);
});

test.each([
  ['before the blob is made', 0, 'may stay'],
  ['when it is made', 1, 'stays'],
] as const)('page blob: a cancel %s, of a network that is dead, is over soon, and what is left is said', async (_, deadFrom, stays) => {
  const cloud = cloudOf();
  cloud.before = () => (cloud.asked.length > deadFrom ? new Promise(() => {}) : undefined);
  const target = TARGETS['page blob'](cloud);
  const opening = failure(target.open(planOf(DISK)));
  await vi.advanceTimersByTimeAsync(10);
  const before = performance.now();
  const thrown = await runClock(target.abort().catch((thrown: unknown) => thrown));
  expect(performance.now() - before).toBe(13_000);
  expect(thrown).toMatchObject({
    code: 'left-behind',
    message: expect.stringMatching(
      `^the upload ${stays} at 'https://cloud.test[^']*': it could not be removed \\(no answer came within 3 seconds\\)$`,
    ),
  });
  await opening;
});

test.each([
  ['made', 1, true, 'nothing failed'],
  ['perhaps made', 0, false, /^the upload may stay at .*\(the server answered 403/],
] as const)('page blob: a cancel of one that is %s, where HEAD is refused', async (_, lostFrom, isRemoved, expected) => {
  let isCancelled = false;
  const cloud = cloudOf({
    fault: (number) => (!isCancelled && number >= lostFrom ? 'lost answer' : undefined),
    answer: ({ method }: Asked) => (method === 'HEAD' ? { status: 403 } : undefined),
  });
  const target = TARGETS['page blob'](cloud);
  const opening = failure(target.open(planOf(DISK)));
  await vi.advanceTimersByTimeAsync(10);
  isCancelled = true;
  const reported = await runClock(failure(target.abort()));
  if (typeof expected === 'string') expect(reported).toBe(expected);
  else expect(reported).toMatch(expected);
  expect(cloud.objects.size === 0).toBe(isRemoved);
  await opening;
});

test('page blob: after a failure, one that HEAD does not identify is named', async () => {
  const cloud = cloudOf({
    answer: ({ method, url }) => {
      if (method === 'HEAD') return { status: 200, headers: { ETag: '"0x1"', 'Content-Length': String(DISK.length) } };
      return url.includes('comp=page') ? { status: 403 } : undefined;
    },
  });
  const target = TARGETS['page blob'](cloud);
  await runClock(target.open(planOf(DISK)));
  expect(await runClock(Promise.resolve(target.abort()).catch((thrown: unknown) => thrown))).toMatchObject({
    code: 'left-behind',
    fields: { leftAt: 'https://cloud.test/disk' },
    message: expect.stringMatching(/^the upload may stay at .*\(nothing shows that the blob is from this upload\)$/),
  });
  expect(cloud.asked.some(({ method }) => method === 'DELETE')).toBe(false);
});

test('page blob: one that was completed is never taken over', async () => {
  const cloud = cloudOf();
  expect(await uploading(cloud, 'page blob')).toBe('nothing failed');
  const failed = await runClock(
    upload(TARGETS['page blob'](cloud), Buffer.alloc(512)).catch((thrown: unknown) => thrown),
  );
  expect(failed).toMatchObject({
    code: 'blob-exists',
    message: expect.stringContaining('a blob with this name exists'),
  });
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

const EXISTING = `${PATH}-of-a-managed-disk`;
const existingBlob = (cloud: ReturnType<typeof cloudOf>, options = {}) =>
  new PageBlob(new AzureBlob(requestsTo(cloud, options), new URL(`https://cloud.test${EXISTING}?sig=secret`)), true);
/** Uploads to an existing page blob. */
const filling = (cloud: ReturnType<typeof cloudOf>, disk = DISK) =>
  runClock(upload(existingBlob(cloud), disk).catch((thrown: unknown) => thrown));
/** Uploads to a target that fails, and leaves `abort` to the test. */
const failing = (target: PageBlob) =>
  failure(
    (async () => {
      await target.open(planOf(DISK));
      for (let at = 0; at < DISK.length; at += PART)
        await target.write(at, new Uint8Array(DISK.subarray(at, at + PART / 2)));
      await target.close();
    })(),
  );
const actions = ({ asked }: { asked: Asked[] }) =>
  asked.map(({ method, headers }) => headers['x-ms-page-write'] ?? method);

test('existing page blob: neither created nor removed, and without holes if blank', async () => {
  const cloud = cloudOf();
  cloud.objects.set(EXISTING, Buffer.alloc(DISK.length));
  expect(await filling(cloud)).toEqual({});
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  expect(actions(cloud)).toEqual(['HEAD', 'GET', ...Array<string>(5).fill('update'), 'HEAD']);
});

test.each([
  ['the server lists pages', {}],
  [
    'the server does not list pages',
    { answer: ({ method }: Asked) => (method === 'GET' ? { status: 403 } : undefined) },
  ],
])('existing page blob, written to before: holes are cleared where %s', async (_, options) => {
  const cloud = cloudOf(options);
  cloud.objects.set(EXISTING, Buffer.alloc(DISK.length, 7));
  expect(await filling(cloud)).toEqual({});
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  expect(actions(cloud).filter((action) => action === 'clear')).toHaveLength(4);
});

test('existing page blob: stays after a failure', async () => {
  const cloud = cloudOf({ fault: (number) => (number === 4 ? 'status 403' : undefined) });
  cloud.objects.set(EXISTING, Buffer.alloc(DISK.length));
  expect(await filling(cloud)).toMatchObject({ code: 'http-status', fields: { status: 403 } });
  expect(actions(cloud)).not.toContain('DELETE');
  expect(cloud.objects.size).toBe(1);
});

/** Requests to an existing page blob: HEAD, GET, then five for pages. The first one for pages has this number. */
const FIRST = 2;

// (case, number of the first request that fails and its fault, sentence)
test.each([
  ['before any page', FIRST - 1, 'status 500', undefined],
  ['by a refusal of every page', FIRST, 'status 403', undefined],
  ['after some pages', FIRST + 2, 'status 403', 'was overwritten in part'],
  ['by the footer', FIRST + 4, 'status 403', 'was overwritten in part'],
  ['without an answer to any page', FIRST, 'drop', 'may have been overwritten in part'],
  ['by a server that fails', FIRST, 'status 500', 'may have been overwritten in part'],
] as const)('existing page blob: what was overwritten is said after a failure %s', async (_, from, fault, sentence) => {
  const cloud = cloudOf({ fault: (number) => (number >= from ? fault : undefined) });
  cloud.objects.set(EXISTING, Buffer.alloc(DISK.length));
  const target = existingBlob(cloud, { patience: 1 });
  const thrown = await runClock(failing(target));
  expect(thrown).not.toBe('nothing failed');
  const left = await runClock(Promise.resolve(target.abort()).catch((thrown: unknown) => thrown));
  if (sentence === undefined) expect(left).toBeUndefined();
  else {
    expect(left).toMatchObject({
      kind: 'target',
      code: 'object-overwritten',
      fields: { leftCode: 'object-overwritten', leftAt: 'https://cloud.test/disk' },
      message: `the object at 'https://cloud.test/disk' ${sentence}`,
    });
  }
  expect(actions(cloud)).not.toContain('DELETE');
});

test('existing page blob: what was overwritten is said after a cancel, while the server is silent', async () => {
  const cloud = cloudOf({ fault: (number) => (number >= FIRST ? 'silent' : undefined) });
  cloud.objects.set(EXISTING, Buffer.alloc(DISK.length));
  const target = existingBlob(cloud);
  const writing = failing(target);
  await vi.advanceTimersByTimeAsync(10);
  expect(await runClock(failure(target.abort()))).toMatch(/ may have been overwritten in part$/);
  expect(await runClock(writing)).not.toBe('nothing failed');
});

test.each([
  ['of another size', DISK.length + 512, 'size-differs', /the blob has 17408 bytes, but the output has 16896$/],
  ['that is not there', undefined, 'blob-missing', /there is no blob at this address$/],
])('existing page blob: one %s is refused before anything is sent', async (_, size, code, sentence) => {
  const cloud = cloudOf();
  if (size !== undefined) cloud.objects.set(EXISTING, Buffer.alloc(size));
  expect(await filling(cloud)).toMatchObject({ code, message: expect.stringMatching(sentence) });
  expect(actions(cloud)).toEqual(['HEAD']);
});

test.each([
  ['of unknown size', undefined, /^A page blob needs an output of known size, a multiple of 512 bytes/],
  ['that is no whole number of pages', 513, /^A page blob needs an output of known size/],
  ['of more than 8 TiB', 8 * TIB + 512, /^A page blob can have at most 8796093022208 bytes, not 8796093022720$/],
])('page blob: an output %s is refused before the first request', async (_, outputSize, sentence) => {
  const cloud = cloudOf();
  const plan = { ascending: true, ...(outputSize === undefined ? {} : { outputSize }) };
  expect(await uploading(cloud, 'page blob', DISK, plan)).toMatch(sentence);
  expect(cloud.asked).toEqual([]);
});

test('block blob: the list has all blocks in order, whatever order they arrive in', async () => {
  const cloud = cloudOf();
  let number = 0;
  cloud.before = ({ url }) => {
    number += 1;
    return url.includes('blockid') ? new Promise((done) => setTimeout(done, 1000 - 100 * number)) : undefined;
  };
  expect(await uploading(cloud, 'block blob')).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  const ids = cloud.asked.flatMap(({ url }) => new URL(url, 'https://cloud.test').searchParams.get('blockid') ?? []);
  expect(ids.map((id) => atob(id).slice(-6))).toEqual(['-00000', '-00001', '-00002', '-00003', '-00004']);
  // All have one length, as Azure wants it.
  expect(new Set(ids.map((id) => id.length)).size).toBe(1);
  expect(cloud.asked.at(-2)!.headers['x-ms-blob-content-type']).toBe('application/octet-stream');
});

test('block blob: a list that changes on the way is refused, and the existing blob stays', async () => {
  const cloud = cloudOf();
  const existing = Buffer.from('the existing blob');
  cloud.objects.set('/azure/disk', existing);
  const { fetch } = cloud;
  const swapping: typeof fetch = async (url, init) => {
    const text = init?.body instanceof Uint8Array ? Buffer.from(init.body).toString() : '';
    const ids = text.match(/<Latest>[^<]+<.Latest>/g) ?? [];
    if (ids.length < 2) return fetch(url, init);
    // The second block is named twice.
    return fetch(url, { ...init, body: text.replace(ids[0]!, ids[1]!) });
  };
  expect(await uploading({ fetch: swapping }, 'block blob')).toContain('Md5Mismatch');
  expect(cloud.objects.get('/azure/disk')).toBe(existing);
});

test('block blob: at most four blocks are in flight', async () => {
  const cloud = cloudOf();
  let [underWay, most] = [0, 0];
  cloud.before = async ({ url }) => {
    if (!url.includes('blockid')) return;
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((done) => setTimeout(done, 1000));
    underWay -= 1;
  };
  expect(await uploading(cloud, 'block blob', Buffer.concat([DISK, DISK]))).toBe('nothing failed');
  expect(most).toBe(4);
});

test('block blob: an empty output is an empty list', async () => {
  const cloud = cloudOf();
  expect(await uploading(cloud, 'block blob', Buffer.alloc(0))).toBe('nothing failed');
  expect(objectIn(cloud)).toEqual(Buffer.alloc(0));
  expect(cloud.asked.map(({ method }) => method)).toEqual(['PUT', 'HEAD']);
});

test.each([
  [{ outputSize: PART }, 8],
  [{ outputSize: 8 * MIB * 50_000 }, 8],
  [{ outputSize: 8 * MIB * 50_000 + 1 }, 16],
  [{ outputSize: 128 * MIB * 50_000 }, 128],
  [{ virtualSize: 8 * MIB * 50_000 }, 16],
  [{}, 8],
])('block blob: blocks for %o have %i MiB', async (plan, size) => {
  const protocol = new BlockBlob(new AzureBlob(requestsTo(cloudOf()), new URL('https://cloud.test/azure/disk')));
  expect(await protocol.begin({ ascending: true, ...plan })).toBe(size * MIB);
});

test('block blob: for an unknown size blocks grow, and 4 TiB fit into 50,000', async () => {
  const protocol = new BlockBlob(new AzureBlob(requestsTo(cloudOf()), new URL('https://cloud.test/azure/disk')));
  await protocol.begin({ ascending: true });
  const sizeOf = protocol.sizeOf!;
  expect([0, 4999, 5000, 19_999, 20_000, 49_999].map((number) => sizeOf(number) / MIB)).toEqual([
    8, 8, 16, 64, 128, 128,
  ]);
  const all = Array.from({ length: 50_000 }, (_, number) => sizeOf(number)).reduce((sum, size) => sum + size, 0);
  expect(all).toBeGreaterThan(4 * TIB);
  const md5Of = async () => new Uint8Array(16);
  const part = { number: 50_000, offset: 7, size: 1, body: new Uint8Array(1), isLast: true, written: 0, digest: md5Of };
  expect(await failure(protocol.part(part))).toBe('A block blob can have at most 50000 blocks, here 7 bytes');
});

test('block blob: an output that does not fit is refused', async () => {
  const cloud = cloudOf();
  const plan = { ascending: true, outputSize: 128 * MIB * 50_000 + 1 };
  expect(await uploading(cloud, 'block blob', DISK, plan)).toBe('A block blob can have at most 6710886400000 bytes');
  expect(cloud.asked).toEqual([]);
});
