// Parts of uploads to S3.

import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Asked, Cloud } from '../../e2e/support/cloud.js';
import { resultOf } from '../../e2e/support/upload-protocols.js';
import { cutOff, DISK as LARGE, Memory, resuming } from './s3-left.test-support.js';
import { growingSize, partSize, requireRoom } from './s3-parts.js';
import { cloudOf, DISK, failure, objectIn, planOf, runClock, s3Over, upload } from './uploads.test-support.js';

describe('the part sizes', () => {
  const MIB = 2 ** 20;
  const GIB = 2 ** 30;
  const TIB = 2 ** 40;
  const ascending = true;

  test.each([
    [0, 8],
    [1, 8],
    [8 * MIB * 10_000, 8],
    [8 * MIB * 10_000 + 1, 16],
    [16 * MIB * 10_000, 16],
    [TIB, 112],
    [512 * MIB * 10_000, 512],
  ])('%i bytes: parts of %i MiB', (outputSize, size) => {
    expect(partSize({ outputSize, ascending })).toBe(size * MIB);
    expect(Math.ceil(outputSize / partSize({ outputSize, ascending }))).toBeLessThanOrEqual(10_000);
  });

  test('an output that does not fit into an upload is refused', () => {
    const outputSize = 512 * MIB * 10_000 + 1;
    expect(() => partSize({ outputSize, ascending })).toThrow(
      /^An upload to S3 can have at most 5368709120000 bytes, but the output may have 5368709120001$/,
    );
  });

  test.each([
    [0, 8],
    [70 * GIB, 8],
    // It fits into 10,000 parts of 8 MiB; with a hundredth more it does not.
    [83_500_000_256, 16],
  ])('a disk of %i bytes, compressed: parts of %i MiB', (virtualSize, size) => {
    expect(partSize({ virtualSize, ascending })).toBe(size * MIB);
  });

  test('a compressed disk that may not fit into an upload is refused', () => {
    expect(() => partSize({ virtualSize: 5 * TIB, ascending })).toThrow(/can have at most 5368709120000 bytes/);
  });

  test('an unknown size: parts of 64 MiB, and of 512 MiB from the 8,000th on', () => {
    const size = partSize({ ascending });
    expect(size).toBe(64 * MIB);
    expect([0, 7999, 8000, 9999].map(growingSize(size))).toEqual([size, size, 512 * MIB, 512 * MIB]);
  });

  test('an upload takes 10,000 parts', () => {
    expect(() => requireRoom(9999, 7)).not.toThrow();
    expect(() => requireRoom(10_000, 7)).toThrow('An upload to S3 can have at most 10000 parts, here 7 bytes');
  });
});

describe('sending', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const uploading = (target: ReturnType<typeof s3Over>) => runClock(failure(upload(target, DISK, planOf(DISK))));

  /** A cloud whose parts have ETags and headers by `change`, and whose object has no ETag of digests. */
  function naming(cloud: Cloud, change: (etag: string, part: Buffer, init: RequestInit) => Record<string, string>) {
    return async (url: string | URL | Request, init: RequestInit = {}) => {
      if (init.method === 'POST' && String(url).includes('uploadId')) {
        const body = String(init.body);
        for (const [, part, etag] of body.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>&quot;([^&]+)/g)) {
          expect(etag).toBe(etags.get(Number(part)));
        }
        const own = body.replaceAll(/(<PartNumber>(\d+)<\/PartNumber><ETag>&quot;)[^&]+/g, (_, head, part) => {
          return `${head}${digests.get(Number(part))}`;
        });
        await cloud.fetch(url as string, { ...init, body: own });
        return new Response(resultOf('"of no digest"'));
      }
      const response = await cloud.fetch(url as string, init);
      if (init.method === 'HEAD') {
        const own = new Headers(response.headers);
        if (/-\d+"$/.test(own.get('ETag')!)) own.set('ETag', '"of no digest"');
        return new Response(null, { status: response.status, headers: own });
      }
      if (init.method !== 'PUT' || !response.ok) return response;
      const number = Number(new URL(String(url)).searchParams.get('partNumber'));
      const digest = response.headers.get('ETag')!.replaceAll('"', '');
      const headers = change(digest, Buffer.from(await new Response(init.body).arrayBuffer()), init);
      digests.set(number, digest);
      etags.set(number, headers.ETag!.replaceAll('"', ''));
      return new Response(null, { headers });
    };
  }
  const digests = new Map<number, string>();
  const etags = new Map<number, string>();
  const OTHER = 'f'.repeat(32);
  const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('base64');

  const KMS = { ETag: `"${OTHER}"`, 'x-amz-server-side-encryption': 'aws:kms' };
  const isPut = ({ method }: Asked): boolean => method === 'PUT';
  const hasDigest = ({ headers }: Asked): boolean => headers['content-md5'] !== undefined;

  test('checksums that are right: an ETag that is not a digest is not a failure', async () => {
    const cloud = cloudOf();
    const change = (_: string, part: Buffer) => ({ ETag: `"${OTHER}"`, 'x-amz-checksum-sha256': sha256(part) });
    expect(await uploading(s3Over({ fetch: naming(cloud, change) as typeof cloud.fetch }))).toBe('nothing failed');
    expect(objectIn(cloud)?.equals(DISK)).toBe(true);
    expect(cloud.asked.filter(isPut)).toHaveLength(5);
    expect(cloud.asked.filter(hasDigest)).toHaveLength(0);
  });

  /** Responses that do not identify the stored bytes. */
  const UNIDENTIFIED = [
    ['keys of a KMS', KMS],
    ['ETags in another form', { ETag: '"abc-1"' }],
    // A page does not see by which keys, and servers of others do not say.
    ['ETags that look like digests', { ETag: `"${OTHER}"` }],
  ] as const;

  test.each(
    UNIDENTIFIED,
  )('%s: the server checks the parts, those in flight in a second request', async (_, headers) => {
    const cloud = cloudOf();
    const fetch = naming(cloud, () => headers) as typeof cloud.fetch;
    expect(await runClock(upload(s3Over({ fetch }), DISK))).toEqual({});
    expect(objectIn(cloud)?.equals(DISK)).toBe(true);
    const puts = cloud.asked.filter(isPut);
    expect(puts.filter(hasDigest)).toHaveLength(5);
    expect(puts.length).toBeLessThanOrEqual(9);
  });

  test.each(UNIDENTIFIED)('%s: a part that arrives damaged is sent again', async (_, headers) => {
    const cloud = cloudOf({ damages: (number) => number === 2 || number === 6 });
    const fetch = naming(cloud, () => headers) as typeof cloud.fetch;
    expect(await runClock(upload(s3Over({ fetch }), DISK))).toEqual({});
    expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  });

  const NOT_CHECKED = {
    unconfirmed: expect.stringMatching(/do not identify the bytes of the parts, and it does not accept Content-MD5$/),
  };

  test('a server that refuses digests: the object is unconfirmed', async () => {
    const cloud = cloudOf({ answer: (asked) => (hasDigest(asked) ? { status: 403 } : undefined) });
    const fetch = naming(cloud, () => KMS) as typeof cloud.fetch;
    const disk = Buffer.concat([DISK, DISK]);
    expect(await runClock(upload(s3Over({ fetch }), disk))).toEqual(NOT_CHECKED);
    expect(objectIn(cloud)?.equals(disk)).toBe(true);
    expect(cloud.asked.filter(hasDigest).length).toBeLessThanOrEqual(4);
  });

  describe('in a page', () => {
    beforeEach(() => {
      vi.stubGlobal('document', {});
      vi.stubGlobal('location', { origin: 'https://page.test' });
    });
    afterEach(() => void vi.unstubAllGlobals());

    test('CORS rules that do not allow digests: the object is unconfirmed', async () => {
      const cloud = cloudOf();
      const named = naming(cloud, () => KMS) as typeof cloud.fetch;
      const fetch: typeof cloud.fetch = async (url, init = {}) => {
        if (new Headers(init.headers).has('Content-MD5')) throw new TypeError('Failed to fetch');
        return named(url, init);
      };
      expect(await runClock(upload(s3Over({ fetch }), DISK))).toEqual(NOT_CHECKED);
    });

    test('a broken connection does not mean that digests are not allowed', async () => {
      const cloud = cloudOf({ fault: (number) => (number === 5 || number === 7 ? 'drop' : undefined) });
      const fetch = naming(cloud, () => KMS) as typeof cloud.fetch;
      expect(await runClock(upload(s3Over({ fetch }), DISK))).toEqual({});
    });
  });

  test('a checksum that differs is a part that arrived damaged, whatever its ETag is', async () => {
    const cloud = cloudOf();
    const change = () => ({ ETag: '"of no digest"', 'x-amz-checksum-sha256': sha256(Buffer.from('other')) });
    const failed = await uploading(s3Over({ fetch: naming(cloud, change) as typeof cloud.fetch }));
    expect(failed).toMatch(/the server stored other bytes than were sent/);
    expect(cloud.objects.size).toBe(0);
  });

  test.each([
    ['the ETag and time of this upload', '"of no digest"', 1000, 'nothing failed'],
    ['another ETag', '"other"', 1000, 'the object on the server is not the one that was uploaded'],
    [
      'the ETag, but an earlier time',
      '"of no digest"',
      -10_000,
      'the object on the server is not the one that was uploaded',
    ],
  ])('an object with %s', async (_, ETag, after, message) => {
    const now = new Date();
    const head = {
      ETag,
      'Content-Length': String(DISK.length),
      'Last-Modified': new Date(Number(now) + after).toUTCString(),
    };
    const cloud = cloudOf({ answer: ({ method }) => (method === 'HEAD' ? { status: 200, headers: head } : undefined) });
    const named = naming(cloud, () => KMS) as typeof cloud.fetch;
    const fetch: typeof cloud.fetch = async (url, init) => {
      const response = await named(url, init);
      if (String(url).endsWith('uploads=')) response.headers.set('Date', now.toUTCString());
      return response;
    };
    expect(await uploading(s3Over({ fetch }))).toContain(message);
  });

  test('a resumed upload with unchecked parts is unconfirmed', async () => {
    const refusing = cloudOf({ answer: (asked) => (hasDigest(asked) ? { status: 403 } : undefined) });
    const journal = new Memory();
    const { fetch } = refusing;
    const named = naming({ fetch } as Cloud, () => KMS) as typeof refusing.fetch;
    await cutOff(Object.assign(refusing, { fetch: named }), journal, 3);
    expect(journal.text.match(/ \? /g)).toHaveLength(3);
    const cloud = { fetch: named };
    expect(await runClock(upload(s3Over(cloud, { journal }), LARGE, resuming()))).toEqual(NOT_CHECKED);
  });
});
