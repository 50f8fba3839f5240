// Errors of uploads.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CloudOptions } from '../../e2e/support/cloud.js';
import type { Target } from '../public/types.js';
import { s3Target } from './index.js';
import { over } from './requests.test-support.js';
import { cutOff, DISK as LARGE, Memory, PARTS, partOf, resuming } from './s3-left.test-support.js';
import { methodAndQuery } from './s3-sign.js';
import { lacksHeader, OTHER_SENDER } from './upload-errors.js';
import { cloudOf, DISK, failure, planOf, runClock, s3Over, TARGETS, upload } from './uploads.test-support.js';

describe('a missing header', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  test('only a page gets a hint about CORS rules', () => {
    expect(lacksHeader(200, 'ETag')).toBe(
      'its response (200) has no ETag; another kind of server, or the sign-in page of a network, may have answered',
    );
    vi.stubGlobal('document', {});
    expect(lacksHeader(200, 'ETag')).toBe(
      'its response (200) has no ETag, or the browser hides it: the CORS rules must expose ETag',
    );
  });

  test('an unexpected success is not described as one', async () => {
    const { requests } = over([() => new Response('<html>', { status: 200, statusText: 'OK' })]);
    const work = requests.send(() => ({ method: 'POST', url: 'https://cloud.test/disk' }), [201]);
    expect(await failure(work)).toContain(
      `the server answered 200 OK, which this request does not expect; ${OTHER_SENDER}`,
    );
  });

  test.each(['tus', 'page blob', 'block blob'] as const)('%s: a page instead of the first response', async (kind) => {
    vi.useFakeTimers();
    const cloud = cloudOf({
      answer: ({ method }) => (method === 'HEAD' ? undefined : { status: 200, body: '<html>' }),
    });
    expect(await runClock(failure(upload(TARGETS[kind](cloud), DISK)))).toContain(OTHER_SENDER);
  });
});

describe('objects that stay', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const failureOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );

  /** Begins an upload and aborts it. Resolves to the failure of `abort`. */
  async function aborted(target: Target): Promise<unknown> {
    await runClock(Promise.resolve(target.open!(planOf(DISK))));
    return runClock(failureOf(Promise.resolve(target.abort(new Error('cancelled')))));
  }

  const error = (code: string) => `<?xml version="1.0"?>\n<Error><Code>${code}</Code></Error>`;
  /** A cloud that answers the removal of an upload with `bodies`, then properly. */
  const answering = (...bodies: string[]): CloudOptions => ({
    answer: ({ method }) => {
      const body = method === 'DELETE' ? bodies.shift() : undefined;
      return body === undefined ? undefined : { status: 200, body };
    },
  });

  test.each([
    ['an error', error('AccessDenied'), /the server answered 200 with an error \(AccessDenied\)/],
    ['a page', '<html>Sign in</html>', /the server answered with a page or an error instead of removing the upload/],
  ])('S3 answers 200 with %s: the upload stays', async (_, body, message) => {
    const cloud = cloudOf(answering(body));
    expect(await aborted(s3Over(cloud))).toMatchObject({
      code: 'left-behind',
      fields: { leftCode: 'left-behind', leftAt: 'https://cloud.test/disk', leftStatus: 200 },
      message: expect.stringMatching(message),
    });
    expect(cloud.begun.size).toBe(1);
  });

  test('S3 answers 200 with a transient error: the removal is retried', async () => {
    const cloud = cloudOf(answering(error('InternalError'), error('SlowDown')));
    expect(await aborted(s3Over(cloud))).toBeUndefined();
    expect(cloud.begun.size).toBe(0);
  });

  test.each(['gcs', 'tus', 'page blob'] as const)('%s: a page is not a removal', async (kind) => {
    const cloud = cloudOf(answering('<html>Sign in</html>'));
    expect(await aborted(TARGETS[kind](cloud))).toMatchObject({ code: 'left-behind' });
  });

  test('with sign, the place is that of the signed URL, without user and query', async () => {
    const cloud = cloudOf({ faultAtEnd: () => 'status 403' });
    const sign = (request: Parameters<typeof methodAndQuery>[0]) =>
      `https://me:secret@cloud.test/s3/disk?${methodAndQuery(request).query}&sig=secret`;
    const thrown = await aborted(s3Target({ sign, fetch: cloud.fetch }));
    expect(thrown).toMatchObject({
      code: 'left-behind',
      fields: { leftCode: 'left-behind', leftAt: 'https://cloud.test/s3/disk', leftStatus: 403 },
    });
    expect((thrown as Error).message).not.toContain('secret');
  });

  test('a resumed upload that was completed is named, although S3 dates the object by its start', async () => {
    const [cloud, journal] = [cloudOf(), new Memory()];
    await cutOff(cloud, journal, 4);
    Object.assign(cloud.options, {
      headers: { Date: new Date().toUTCString(), 'Last-Modified': new Date(Date.now() - 86_400_000).toUTCString() },
    });
    cloud.beforeAnswer = ({ method, url }) => {
      if (method === 'POST' && url.includes('uploadId')) return new Promise(() => {});
      return undefined;
    };
    const target = s3Over(cloud, { journal });
    const begun = await runClock(Promise.resolve(target.open!(resuming())));
    const { offset } = begun as { offset: number };
    const work = (async () => {
      await target.write(offset, new Uint8Array(LARGE.subarray(offset)));
      await target.close();
    })().catch(() => {});
    await vi.advanceTimersByTimeAsync(1000);
    expect(cloud.asked.map(partOf)).toContain(PARTS);
    expect(await runClock(failureOf(Promise.resolve(target.abort(new Error('cancelled'), false))))).toMatchObject({
      code: 'object-completed',
      message: "the object stays at 'https://cloud.test/disk': the server had completed it",
    });
    await work;
  });
});
