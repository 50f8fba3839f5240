// Targets of uploads as a conversion sees them: good for one conversion, and made by the functions of the package.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Cloud } from '../../e2e/support/cloud.js';
import {
  azureBlockBlobTarget,
  azurePageBlobTarget,
  gcsTarget,
  putTarget,
  s3Target,
  type Target,
  tusTarget,
  type UploadOptions,
} from './index.js';
import { methodAndQuery } from './s3-sign.js';
import { cloudOf, DISK, failure, objectIn, runClock, upload } from './uploads.test-support.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ORIGIN = 'https://cloud.test';
const KEYS = { accessKeyId: 'public', secretAccessKey: 'secret' };

/** A target of each function, at an address with a user, a password and a query. */
const MAKERS: Record<string, (options: UploadOptions) => Target> = {
  s3: (options) => s3Target({ sign: (request) => `${ORIGIN}/s3/disk?${methodAndQuery(request).query}`, ...options }),
  gcs: (options) => gcsTarget({ url: 'https://me:secret@cloud.test/gcs/disk', ...options }),
  tus: (options) => tusTarget({ url: 'https://me:secret@cloud.test/tus/files', ...options }),
  put: (options) => putTarget({ url: 'https://me:secret@cloud.test/put/disk?key=secret', ...options }),
  'page blob': (options) =>
    azurePageBlobTarget({ url: 'https://me:secret@cloud.test/azure/disk?sig=secret', ...options }),
  'block blob': (options) =>
    azureBlockBlobTarget({ url: new URL('https://me:secret@cloud.test/azure/disk?sig=secret'), ...options }),
};
const KINDS = Object.keys(MAKERS);
const made = (kind: string, { fetch }: Pick<Cloud, 'fetch'>, options: UploadOptions = {}) =>
  MAKERS[kind]!({ fetch, ...options });

test.each(KINDS)('%s: the object is the disk', async (kind) => {
  const cloud = cloudOf();
  const target = made(kind, cloud);
  expect(target.ascending).toBe(true);
  expect(target.resumes).toBe(false);
  expect(target.network).toEqual({ received: 0, sent: 0, retries: 0, silence: 0 });
  expect(await runClock(failure(upload(target, DISK)))).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  expect(target.network!.sent).toBeGreaterThanOrEqual(kind === 'page blob' ? 8704 : DISK.length);
});

test.each(KINDS)('%s: the start of the object comes last, where that is possible', async (kind) => {
  const cloud = cloudOf();
  const target = made(kind, cloud);
  const isPossible = ['s3', 'block blob'].includes(kind);
  expect(target.lateStart ?? 0).toBe(isPossible ? 8 << 20 : 0);
  if (!isPossible) return;
  // Several writes in the first part, and several parts.
  const [start, step] = [128 << 10, 1 << 20];
  const disk = Buffer.alloc((18 << 20) + 512);
  for (let at = 0; at < disk.length; at += 256) disk.writeUInt32LE(at + 1, at);
  const work = async () => {
    await target.open!({ virtualSize: disk.length, ascending: true });
    for (let at = start; at < disk.length; at += step) await target.write(at, bytesOf(at, at + step));
    await target.write(0, bytesOf(0, start));
    await target.close();
  };
  const bytesOf = (from: number, to: number) => new Uint8Array(disk.subarray(from, to));
  expect(await runClock(failure(work()))).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(disk)).toBe(true);
});

test.each(
  KINDS.filter((kind) => kind !== 's3'),
)('%s: user and password travel as a header, unless the caller has headers', async (kind) => {
  const cloud = cloudOf();
  await runClock(upload(made(kind, cloud), DISK));
  expect(cloud.asked[0]!.headers.authorization).toBe(`Basic ${btoa('me:secret')}`);
  const other = cloudOf();
  await runClock(upload(made(kind, other, { headers: { Authorization: 'Bearer token' } }), DISK));
  expect(other.asked[0]!.headers.authorization).toBe('Bearer token');
});

test.each(KINDS)('%s: no message shows secrets', async (kind) => {
  const cloud = cloudOf({ fault: () => 'status 403' });
  const failed = await runClock(failure(upload(made(kind, cloud), DISK)));
  expect(failed).toMatch(/^Could not upload( to 'https:\/\/cloud\.test\/[^?@]*')?: the server answered 403/);
  expect(failed).not.toContain('secret');
});

test.each(
  KINDS.filter((kind) => kind !== 's3'),
)('%s: a header that cannot be sent is named without its value', async (kind) => {
  const cloud = cloudOf();
  const headers = { Authorization: 'Basic a\nsecret' };
  const failed = await runClock(failure(upload(made(kind, cloud, { headers }), DISK)));
  expect(failed).toContain("The header 'Authorization' has an invalid character");
  expect(failed).not.toContain('secret');
  expect(cloud.asked).toEqual([]);
});

test.each(KINDS)('%s: a target can be used for one conversion, whose object stays', async (kind) => {
  const cloud = cloudOf();
  const target = made(kind, cloud);
  await runClock(upload(target, DISK));
  const count = cloud.asked.length;
  const other = Buffer.alloc(512, 1);
  expect(await runClock(failure(upload(target, other)))).toBe(
    'The target of an upload can be used for one conversion only; make another one',
  );
  expect(cloud.asked).toHaveLength(count);
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
});

test.each(KINDS)('%s: a target cannot be used again after a failed conversion', async (kind) => {
  const cloud = cloudOf({ fault: (number) => (number === 0 ? 'status 403' : undefined) });
  const target = made(kind, cloud);
  await runClock(failure(upload(target, DISK)));
  expect(await runClock(failure(upload(target, DISK)))).toMatch(/can be used for one conversion only/);
  expect(cloud.objects.size).toBe(0);
});

test.each(KINDS)('%s: an abort before the conversion makes no request', async (kind) => {
  const cloud = cloudOf();
  await runClock(Promise.resolve(made(kind, cloud).abort(new Error('cancelled'))));
  expect(cloud.asked).toEqual([]);
});

test.each(KINDS)('%s: a cancel leaves nothing', async (kind) => {
  const cloud = cloudOf({ fault: (number) => (number > 1 || (kind === 'put' && number === 0) ? 'silent' : undefined) });
  const target = made(kind, cloud);
  const work = failure(
    (async () => {
      await target.open!({ virtualSize: 24 << 20, outputSize: 24 << 20, ascending: true });
      await target.write(0, new Uint8Array(24 << 20));
      await target.close();
    })(),
  );
  await vi.advanceTimersByTimeAsync(400);
  const aborted = await runClock(failure(Promise.resolve(target.abort(new Error('cancelled')))));
  // The whole body was sent.
  if (kind === 'put') expect(aborted).toMatch(/^the object may still appear at /);
  else expect(aborted).toBe('nothing failed');
  expect(await work).not.toBe('nothing failed');
  expect(cloud.begun.size).toBe(0);
  expect(cloud.objects.size).toBe(0);
});

const BEGINNING = ['s3', 'gcs', 'tus', 'page blob'];
test.each(BEGINNING)('%s: a cancel while the upload is begun leaves nothing', async (kind) => {
  for (const at of ['before', 'beforeAnswer'] as const) {
    const cloud = cloudOf();
    let go = () => {};
    cloud[at] = () =>
      cloud.asked.length === 1
        ? new Promise<void>((done) => {
            go = done;
          })
        : undefined;
    const target = made(kind, cloud);
    const opening = failure(target.open!({ virtualSize: DISK.length, outputSize: DISK.length, ascending: true }));
    await vi.advanceTimersByTimeAsync(10);
    const aborted = failure(Promise.resolve(target.abort(new Error('cancelled'))));
    await vi.advanceTimersByTimeAsync(5000);
    go();
    expect(await runClock(aborted)).toBe('nothing failed');
    await opening;
    expect(cloud.begun.size).toBe(0);
    expect(cloud.objects.size).toBe(0);
    expect(cloud.asked.at(-1)!.method).toBe('DELETE');
  }
});

test.each(
  BEGINNING,
)('%s: an upload that cannot be removed is reported, with its place and the status', async (kind) => {
  for (const status of [403, 405] as const) {
    const answer = ({ method }: { method: string }) => (method === 'DELETE' ? { status } : undefined);
    const cloud = cloudOf({ answer });
    const target = made(kind, cloud);
    await runClock(
      target.open!({ virtualSize: DISK.length, outputSize: DISK.length, ascending: true }) as Promise<unknown>,
    );
    const aborted = Promise.resolve(target.abort(new Error('cancelled'))).catch((thrown: unknown) => thrown);
    const thrown = await runClock(aborted);
    expect(thrown).toMatchObject({ kind: 'target', code: 'left-behind', fields: { leftStatus: status } });
    const { message } = thrown as Error;
    expect(message).toMatch(/^the upload stays at 'https:\/\/cloud\.test\/[^?']*': /);
    expect(message).toContain(`it could not be removed (the server answered ${status}`);
    expect(message).not.toContain('secret');
  }
});

test('an upload to S3 with a journal can be resumed', () => {
  const journal = { read: () => undefined, append: () => {}, clear: () => {} };
  expect(s3Target({ url: `${ORIGIN}/s3/disk`, keys: KEYS, journal }).resumes).toBe(true);
});

test('keys do not belong in a page', () => {
  const message = "Keys do not belong in a page; presign the requests on your server ('sign')";
  vi.stubGlobal('process', undefined);
  expect(() => s3Target({ url: `${ORIGIN}/s3/disk`, keys: KEYS })).toThrow(message);
});

test.each(['ftp://cloud.test/disk', 'disk.img', ''])('%s is not a URL', (address) => {
  for (const make of [
    () => putTarget({ url: address }),
    () => tusTarget({ url: address }),
    () => gcsTarget({ url: address }),
    () => azurePageBlobTarget({ url: address }),
    () => s3Target({ url: address, keys: KEYS }),
  ]) {
    expect(make).toThrow(expect.objectContaining({ kind: 'usage' }));
  }
});

const unreadable = (name: string): PropertyDescriptorMap => ({
  [name]: {
    get() {
      throw new Error('a');
    },
  },
});
const UNREADABLE = Object.defineProperties({}, { ...unreadable('headers'), ...unreadable('region') });

test.each<[string, () => unknown, string]>([
  ['options that cannot be read', () => putTarget(UNREADABLE as never), 'Could not read the options: a'],
  [
    'a sign that cannot be read',
    () => s3Target(Object.defineProperties({}, unreadable('sign')) as never),
    'Could not read the options of s3Target: a',
  ],
  ['keys that cannot be read', () => s3Target({ url: ORIGIN, keys: UNREADABLE } as never), "Could not read 'keys': a"],
  ['no options', () => s3Target(undefined as never), "'options' must be an object"],
  ['a sign that is none', () => s3Target({ sign: 'https://secret/' } as never), "'sign' must be a function"],
  ['no keys', () => s3Target({ url: ORIGIN } as never), "'accessKeyId' of the keys must be a non-empty string"],
  [
    'half of the keys',
    () => s3Target({ url: ORIGIN, keys: { accessKeyId: 'a' } } as never),
    "'secretAccessKey' of the keys must be a non-empty string",
  ],
  [
    'a region that is none',
    () => s3Target({ url: ORIGIN, keys: { ...KEYS, region: 5 } } as never),
    "'region' of the keys must be a non-empty string",
  ],
  ['no address of S3', () => s3Target({ keys: KEYS } as never), 'The address must be an http or https URL'],
  ['no address of Google', () => gcsTarget({} as never), 'The address must be an http or https URL'],
  ['no options of Google', () => gcsTarget(null as never), "'options' must be an object"],
  ['no address of tus', () => tusTarget({} as never), 'The address must be an http or https URL'],
  ['an address instead of options', () => tusTarget(ORIGIN as never), "'options' must be an object"],
  ['a path for PUT', () => putTarget({ url: '/disk.raw' }), 'The address must be an http or https URL'],
  ['a time-out that is a text', () => putTarget({ url: ORIGIN, timeout: '5' } as never), "'timeout' must be a number"],
  ['headers that are none', () => azurePageBlobTarget({ url: ORIGIN, headers: null } as never), "'headers' must be"],
  [
    'a fetch that is none',
    () => azureBlockBlobTarget({ url: ORIGIN, fetch: 5 } as never),
    "'fetch' must be a function",
  ],
])('%s: refused before anything is asked', (_, make, message) => {
  let thrown: unknown;
  try {
    make();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ kind: 'usage', message: expect.stringContaining(message) });
});

test('user and password of a URL that is signed by keys are sent as a header', async () => {
  const cloud = cloudOf();
  const target = s3Target({ url: 'https://me:pass@cloud.test/s3/disk', keys: KEYS, fetch: cloud.fetch });
  // Signing takes time, too.
  vi.useRealTimers();
  expect(await failure(upload(target, DISK))).toBe('nothing failed');
  expect(new Set(cloud.asked.map(({ headers }) => headers.authorization))).toEqual(
    new Set([`Basic ${btoa('me:pass')}`]),
  );
});
