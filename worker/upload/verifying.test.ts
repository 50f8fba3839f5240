// Verifying an upload: checksums of the server, or the finished object for reading it back.

import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Cloud, CloudOptions } from '../../e2e/support/cloud.js';
import type { Target, TargetEnd, TargetPlan } from '../public/types.js';
import { singleUse } from './ascending-target.js';
import { AzureBlob, PageBlob } from './azure.js';
import {
  cloudOf,
  DISK,
  KINDS,
  type Kind,
  objectIn,
  planOf,
  requestsTo,
  runClock,
  TARGETS,
  upload,
} from './uploads.test-support.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const VERIFIED: TargetPlan = { ...planOf(DISK), verify: true };
const OTHER = createHash('md5').update('other').digest();
const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest();
const MD5 = md5(DISK);

type Fetch = Cloud['fetch'];

/** `cloud` as a server whose responses have further headers, or lack some. */
function naming(cloud: Cloud, change: (method: string, headers: Headers, body: Buffer) => void): { fetch: Fetch } {
  const fetch: Fetch = async (url, init = {}) => {
    const answer = await cloud.fetch(url, init);
    const headers = new Headers(answer.headers);
    const { method = 'GET', body } = init;
    change(method, headers, Buffer.from(body instanceof Uint8Array ? body : ''));
    return new Response(answer.body, { status: answer.status, headers });
  };
  return { fetch };
}

const made = (kind: Kind, server: { fetch: Fetch }): Target => singleUse(TARGETS[kind](server) as never);
const uploaded = (target: Target, plan = VERIFIED) => runClock(upload(target, DISK, plan)) as Promise<TargetEnd>;
const failed = (target: Target) => uploaded(target).catch((thrown: unknown) => thrown);

/** The verification of each target if the server's responses are normal. */
const OFFERS: Record<Kind, { checked?: true; object?: string | undefined }> = {
  s3: { checked: true, object: undefined },
  gcs: { checked: true, object: 'https://cloud.test/gcs/disk' },
  tus: {},
  put: { object: 'https://cloud.test/put/disk' },
  'page blob': { checked: true, object: 'https://cloud.test/azure/disk?sig=secret' },
  'block blob': { checked: true, object: 'https://cloud.test/azure/disk?sig=secret' },
};

test.each(KINDS)('%s: what it offers', async (kind) => {
  const target = made(kind, cloudOf());
  const { checked } = await uploaded(target);
  expect(checked).toBe(OFFERS[kind].checked);
  expect(target.readBack !== undefined).toBe('object' in OFFERS[kind]);
  const readable = await target.readBack?.();
  expect(readable && 'url' in readable ? String(readable.url) : undefined).toBe(OFFERS[kind].object);
});

test.each(KINDS)('%s: nothing is said of an output that is not verified', async (kind) => {
  expect(await uploaded(made(kind, cloudOf()), planOf(DISK))).toEqual({});
});

test.each<[string, Record<string, string>, true | undefined]>([
  ['an ETag that is the digest', { ETag: `"${MD5.toString('hex')}"` }, true],
  ['an ETag of another kind', { ETag: '"17"' }, undefined],
  ['an ETag that is another digest', { ETag: `"${OTHER.toString('hex')}"` }, undefined],
  ['Content-MD5', { 'Content-MD5': MD5.toString('base64') }, true],
  ['another Content-MD5, as of the response', { 'Content-MD5': OTHER.toString('base64') }, undefined],
  ['x-goog-hash', { 'x-goog-hash': `crc32c=AAAAAA==,md5=${MD5.toString('base64')}` }, true],
])('put: a server that states %s', async (_, stated, checked) => {
  const server = naming(cloudOf(), (_method, headers) => {
    for (const [name, value] of Object.entries(stated)) headers.set(name, value);
  });
  expect((await uploaded(made('put', server))).checked).toBe(checked);
});

test('put: an object that cannot be looked at cannot be read back', async () => {
  const cloud = cloudOf({ answer: ({ method }) => (method === 'HEAD' ? { status: 405 } : undefined) });
  const target = made('put', cloud);
  expect(await uploaded(target)).toEqual({ unconfirmed: expect.any(String) });
  expect(await target.readBack!()).toBeUndefined();
});

test.each([
  ['is not removed if another client has replaced it', '"2"', true],
  ['is removed if it is still the one that was uploaded', 'W/"1"', false],
])('put: an object %s', async (_, etag, stays) => {
  const cloud = cloudOf();
  let now = '"1"';
  const target = made(
    'put',
    naming(cloud, (_method, headers) => headers.set('ETag', now)),
  );
  await uploaded(target);
  now = etag;
  const removed = runClock(target.remove!()).catch((thrown: unknown) => thrown);
  const fields = { leftAt: 'https://cloud.test/put/disk' };
  if (stays) expect(await removed).toMatchObject({ code: 'left-behind', fields });
  else expect(await removed).toBeUndefined();
  expect(cloud.objects.size).toBe(stays ? 1 : 0);
});

test('put: reading back has the headers of the upload', async () => {
  const target = TARGETS.put(cloudOf(), { headers: { 'X-Auth-Token': 'mine' } });
  await uploaded(target);
  const readable = (await target.readBack!()) as { headers: () => Promise<Record<string, string>> };
  expect(await readable.headers()).toEqual({ 'x-auth-token': 'mine' });
});

test('gcs: without a digest in the response, the object is read back', async () => {
  const cloud = cloudOf();
  const fetch: Fetch = async (url, init) => {
    const answer = await cloud.fetch(url, init);
    const text = answer.ok && init?.method === 'PUT' ? `{ "size": "${DISK.length}" }` : await answer.text();
    return new Response(answer.status === 204 ? null : text, answer);
  };
  const target = made('gcs', { fetch });
  expect(await uploaded(target)).toEqual({});
  expect(await target.readBack!()).toMatchObject({ url: new URL('https://cloud.test/gcs/disk') });
});

describe('s3', () => {
  const KMS = { 'x-amz-server-side-encryption': 'aws:kms' };
  const encrypted = (options: CloudOptions = {}) => {
    const cloud = cloudOf(options);
    const server = naming(cloud, (_method, headers) => {
      for (const [name, value] of Object.entries(KMS)) headers.set(name, value);
    });
    return { cloud, target: made('s3', server) };
  };

  test('parts that the server has compared by Content-MD5', async () => {
    expect(await uploaded(encrypted().target)).toEqual({ checked: true });
  });

  test('parts whose ETags are other digests, without encryption: the object is never completed', async () => {
    const cloud = cloudOf();
    const server = naming(cloud, (method, headers) => {
      if (method === 'PUT') headers.set('ETag', `"${OTHER.toString('hex')}"`);
    });
    expect(await failed(made('s3', server))).toMatchObject({ kind: 'target', code: 'not-verifiable' });
    expect([cloud.objects.size, cloud.begun.size]).toEqual([0, 0]);
  });

  test('parts that nothing identifies: the object is never completed', async () => {
    const hasDigest = ({ headers }: { headers: Record<string, string | undefined> }) =>
      headers['content-md5'] !== undefined;
    const { cloud, target } = encrypted({ answer: (asked) => (hasDigest(asked) ? { status: 403 } : undefined) });
    expect(await failed(target)).toMatchObject({ kind: 'target', code: 'not-verifiable' });
    expect([cloud.objects.size, cloud.begun.size]).toEqual([0, 0]);
  });
});

describe.each(['page blob', 'block blob'] as const)('%s', (kind) => {
  test.each<[string, (body: Buffer) => Buffer, boolean]>([
    ['the digest of the bytes', md5, true],
    ['another digest', () => OTHER, false],
  ])('a server that states %s', async (_, digestOf, isRight) => {
    const cloud = cloudOf();
    const server = naming(cloud, (method, headers, body) => {
      if (method === 'PUT' && body.length > 0) headers.set('Content-MD5', digestOf(body).toString('base64'));
    });
    const end = await failed(made(kind, server));
    if (isRight) expect(end).toEqual({ checked: true });
    else expect(end).toMatchObject({ kind: 'target', code: 'part-differs' });
    expect(objectIn(cloud)?.equals(DISK) ?? false).toBe(isRight);
  });
});

describe('an object that differs from the disk', () => {
  test.each(['gcs', 'put', 'page blob', 'block blob'] as const)('%s: it is removed', async (kind) => {
    const cloud = cloudOf({ answer: ({ method }) => (method === 'DELETE' ? { status: 204 } : undefined) });
    const target = made(kind, cloud);
    await uploaded(target);
    await runClock(target.remove!());
    const { url, method, headers } = cloud.asked.at(-1)!;
    expect([method, `https://cloud.test${url}`]).toEqual(['DELETE', OFFERS[kind].object]);
    expect(headers['x-ms-version'] !== undefined).toBe(kind.endsWith('blob'));
  });

  const removal = (target: Target) => runClock(target.remove!().then(String, (thrown: unknown) => thrown));

  test('put: one that the server does not remove stays, as the error says', async () => {
    const target = made(
      'put',
      cloudOf({ answer: ({ method }) => (method === 'DELETE' ? { status: 405 } : undefined) }),
    );
    await uploaded(target);
    expect(await removal(target)).toMatchObject({
      code: 'left-behind',
      fields: { leftAt: 'https://cloud.test/put/disk', leftStatus: 405 },
    });
  });

  test('page blob: one that the caller had stays', async () => {
    const cloud = cloudOf();
    cloud.objects.set('/azure/disk', Buffer.alloc(DISK.length));
    const blob = new AzureBlob(requestsTo(cloud), new URL('https://cloud.test/azure/disk?sig=secret'));
    const target = new PageBlob(blob, true);
    expect(await uploaded(target)).toEqual({ checked: true });
    expect(await removal(target)).toMatchObject({ code: 'object-completed' });
    expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  });
});
