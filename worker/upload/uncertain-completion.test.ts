// Uploads that fail or are cancelled after the request to complete the object: an object that may stay is named.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Asked, Cloud } from '../../e2e/support/cloud.js';
import { cloudOf, DISK, type Kind, objectIn, planOf, runClock, TARGETS, upload } from './uploads.test-support.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const PLACE = 'https://cloud.test/disk';
const END = DISK.length - 1;
/** The requests with which the server has all of an object. */
const ENDS: Record<Kind, (asked: Asked) => boolean> = {
  s3: ({ method, url }) => method === 'POST' && url.includes('uploadId'),
  gcs: ({ method, headers }) => method === 'PUT' && new RegExp(`-${END}/\\d+$`).test(headers['content-range'] ?? ''),
  tus: ({ method, headers }) => method === 'PATCH' && headers['upload-offset'] === String(DISK.length - 512),
  put: ({ method }) => method === 'PUT',
  'page blob': ({ headers }) => headers['x-ms-range'] === `bytes=${DISK.length - 512}-${END}`,
  'block blob': ({ url }) => url.includes('comp=blocklist'),
};
/** The methods that query the object. */
const LOOKS: Record<Kind, (asked: Asked) => boolean> = {
  ...ENDS,
  s3: ({ method }) => method === 'HEAD',
  gcs: ({ method, headers }) => method === 'HEAD' || (headers['content-range'] ?? '').startsWith('bytes */'),
  put: ({ method }) => method === 'HEAD',
  'block blob': ({ method }) => method === 'HEAD',
};
/** Protocols whose object replaces another one on completion. The others create it at a new location. */
const REPLACING = ['s3', 'gcs', 'put', 'block blob'] as const;

const html = { 'Content-Type': 'text/html' };
const never = () => new Promise<never>(() => {});
const isLook = (kind: Kind) => (asked: { method: string; url: string; headers: Asked['headers'] }) =>
  LOOKS[kind](asked as Asked);

/** A `fetch` to `cloud` whose answers to `kind`'s looks are those of `look`. */
function looking(cloud: Cloud, kind: Kind, look: () => Response | Promise<Response>): typeof fetch {
  return async (url, init = {}) => {
    const { pathname, search } = new URL(String(url));
    const headers = Object.fromEntries(new Headers(init.headers));
    return isLook(kind)({ method: init.method!, url: `${pathname}${search}`, headers })
      ? look()
      : cloud.fetch(url as string, init);
  };
}

/** Uploads to `cloud`, and aborts when the last request was held. Resolves to the failure of `abort`. */
async function cancelled(
  kind: Kind,
  cloud: Cloud,
  fetch: typeof globalThis.fetch = cloud.fetch,
  isAnswered = false,
): Promise<unknown> {
  const target = TARGETS[kind]({ fetch });
  const { abort } = target;
  // The test aborts.
  target.abort = async () => {};
  const work = upload(target, DISK).catch(() => 'failed');
  await vi.advanceTimersByTimeAsync(1000);
  expect(cloud.asked.some(ENDS[kind])).toBe(true);
  const begin = performance.now();
  const aborted = Promise.resolve(abort.call(target, new Error('cancelled'))).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const failure = await runClock(aborted);
  expect(performance.now() - begin).toBeLessThan(25_000);
  // S3 and Google confirm the object by the response itself.
  if (!isAnswered) expect(await work).toBe('failed');
  return failure;
}

/** The cloud carries the last request out, and does not answer. */
function done(kind: Kind, headers: Record<string, string> = {}): Cloud {
  const cloud = cloudOf({ headers });
  cloud.beforeAnswer = (asked) => (ENDS[kind](asked) ? never() : undefined);
  return cloud;
}

/** The cloud never carries it out. */
function undone(kind: Kind): Cloud {
  const cloud = cloudOf();
  cloud.before = (asked) => (ENDS[kind](asked) ? never() : undefined);
  return cloud;
}

/** Requests to complete the object, or for its state other than by the object itself. */
const COMPLETIONS: Partial<Record<Kind, (asked: Asked) => boolean>> = {
  s3: ENDS.s3,
  gcs: ({ method, headers }) => method === 'PUT' && !(headers['content-range'] ?? '').endsWith('/*'),
  'block blob': ({ method, url }) => method === 'PUT' && ENDS['block blob']({ url } as Asked),
};

describe.each(Object.entries(COMPLETIONS) as [Kind, (asked: Asked) => boolean][])('%s', (kind, isCompletion) => {
  const MADE = 'nothing failed';
  const uploading = (cloud: Cloud) =>
    runClock(
      upload(TARGETS[kind](cloud), DISK).then(
        (end) => end?.unconfirmed ?? MADE,
        (thrown: Error) => thrown.message,
      ),
    );

  test('all responses to the completion are lost: the object decides', async () => {
    const cloud = cloudOf({ fault: (_, asked) => (isCompletion(asked) ? 'lost answer' : undefined) });
    const begin = performance.now();
    expect(await uploading(cloud)).toBe(MADE);
    expect(objectIn(cloud)?.equals(DISK)).toBe(true);
    expect(performance.now() - begin).toBeLessThan(2000);
  });

  test('no request to complete it arrives, and an equal or another object exists: it is requested again', async () => {
    for (const existing of [Buffer.from(DISK).fill(1), undefined]) {
      let drops = 3;
      const cloud = cloudOf({
        fault(_, asked) {
          if (!isCompletion(asked) || drops === 0) return undefined;
          drops -= 1;
          return 'drop';
        },
      });
      if (existing) cloud.objects.set(`/${kind.includes(' ') ? 'azure' : kind}/disk`, existing);
      expect(await uploading(cloud)).toBe(MADE);
      expect(drops).toBe(0);
      expect(objectIn(cloud)?.equals(DISK)).toBe(true);
    }
  });
});

const stays = {
  kind: 'target',
  code: 'object-completed',
  message: `the object stays at '${PLACE}': the server had completed it`,
  fields: { leftAt: PLACE },
};
const mayStay = {
  kind: 'target',
  code: 'object-completed',
  message: expect.stringContaining(`the object may stay at '${PLACE}': the server may have completed it`),
  fields: { leftAt: PLACE },
};
const mayAppear = (reason: string) => ({
  code: 'object-completed',
  message: `the object may still appear at '${PLACE}': the server had received everything, but ${reason}`,
  fields: { leftAt: PLACE, leftCode: 'object-completed' },
});
/** Uploads that the server may still complete, as far as HEAD shows. */
const UNSURE = ['s3', 'put', 'block blob'] as const;
const SURE = ['gcs', 'tus', 'page blob'] as const;
const later = (time: number) => new Promise<void>((resolve) => void setTimeout(resolve, time));
const at = (milliseconds: number) => new Date(Date.now() + milliseconds).toUTCString();

describe('a cancel while the object is completed', () => {
  test.each(REPLACING)('%s: an existing object is named', async (kind) => {
    const cloud = done(kind, { Date: at(0), 'Last-Modified': at(0) });
    expect(await cancelled(kind, cloud)).toMatchObject(stays);
    expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  });

  test.each(REPLACING)('%s: an object of unknown age is named', async (kind) => {
    const isSure = kind === 's3' || kind === 'gcs';
    expect(await cancelled(kind, done(kind))).toMatchObject(isSure ? stays : mayStay);
  });

  test.each(['tus', 'page blob'] as const)('%s: the object, which has its own URL, is removed', async (kind) => {
    const cloud = done(kind);
    expect(await cancelled(kind, cloud)).toBeUndefined();
    expect(cloud.objects.size).toBe(0);
  });

  test.each(SURE)('%s: without an object, nothing stays', async (kind) => {
    const cloud = undone(kind);
    expect(await cancelled(kind, cloud)).toBeUndefined();
    expect(cloud.objects.size).toBe(0);
    expect(cloud.begun.size).toBe(0);
  });

  test.each(UNSURE)('%s: without an object and a response, it may still appear', async (kind) => {
    const cloud = undone(kind);
    const begin = performance.now();
    expect(await cancelled(kind, cloud)).toMatchObject(mayAppear('it had not answered'));
    expect(performance.now() - begin).toBeLessThan(5000);
    expect(cloud.begun.size).toBe(0);
  });

  test.each(REPLACING)('%s: a response within three seconds decides: the object stays', async (kind) => {
    const cloud = cloudOf({ headers: { Date: at(0), 'Last-Modified': at(0) } });
    cloud.before = (asked) => (ENDS[kind](asked) ? later(3500) : undefined);
    expect(await cancelled(kind, cloud, cloud.fetch, true)).toMatchObject(stays);
    expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  });

  test.each(UNSURE)('%s: a response within three seconds decides: it was refused', async (kind) => {
    const cloud = cloudOf({
      answer: (asked) => (ENDS[kind](asked) ? later(3500).then(() => ({ status: 403 })) : undefined),
    });
    expect(await cancelled(kind, cloud)).toBeUndefined();
  });

  test.each(UNSURE)('%s: a request that was not sent does not count', async (kind) => {
    const cloud = cloudOf();
    const target = TARGETS[kind](cloud);
    await runClock(target.open!(planOf(DISK)));
    await target.write(0, new Uint8Array(DISK.subarray(0, 10)));
    const begin = performance.now();
    await runClock(Promise.resolve(target.abort(new Error('cancelled'))));
    expect(performance.now() - begin).toBe(0);
  });

  const UNKNOWN: Record<string, () => Response | Promise<Response>> = {
    'is not allowed to look': () => new Response(null, { status: 403 }),
    'gets no answer': never,
    'cannot connect': () => {
      throw new TypeError('fetch failed');
    },
    'gets a page': () => new Response('<html>', { headers: html }),
    'is sent elsewhere': () => new Response(null, { status: 307, headers: { Location: '/elsewhere' } }),
  };
  const ROWS = REPLACING.flatMap((kind) => Object.keys(UNKNOWN).map((how) => [kind, how] as const));
  test.each(ROWS)('%s: a server that %s: the object may exist', async (kind, how) => {
    // Google's answer to the cancel of a session that is over.
    const cloud = cloudOf({
      answer: ({ method, url }) => (method === 'DELETE' && url.includes('gcs') ? { status: 404 } : undefined),
    });
    cloud.beforeAnswer = (asked) => (ENDS[kind](asked) ? never() : undefined);
    expect(await cancelled(kind, cloud, looking(cloud, kind, UNKNOWN[how]!))).toMatchObject(mayStay);
  });

  test.each(REPLACING)('%s: an older object does not count', async (kind) => {
    const cloud = undone(kind);
    const headers = {
      Date: at(0),
      'Last-Modified': at(-600_000),
      'Content-Length': String(DISK.length),
      ETag: '"old"',
    };
    const status = kind === 'gcs' ? 308 : 200;
    expect(
      await cancelled(
        kind,
        cloud,
        looking(cloud, kind, () => new Response(null, { status, headers })),
      ),
    ).toEqual(kind === 'gcs' ? undefined : expect.objectContaining(mayAppear('it had not answered')));
  });
});

describe('a failure when the object is completed', () => {
  /** Uploads, and resolves to the failure of `abort`. */
  async function failed(kind: Kind, fetch: typeof globalThis.fetch): Promise<{ code: unknown; left: unknown }> {
    const target = TARGETS[kind]({ fetch }, { patience: 10 });
    const abort = target.abort.bind(target);
    let left: unknown;
    target.abort = (reason, keep) =>
      Promise.resolve(abort(reason, keep)).catch((thrown: unknown) => {
        left = thrown;
      });
    const code = await runClock(
      upload(target, DISK).then(
        () => 'done',
        (thrown: { code: string }) => thrown.code,
      ),
    );
    return { code, left };
  }
  test.each(UNSURE)('%s: the object may still appear after an error of a proxy', async (kind) => {
    const cloud = cloudOf({ answer: (asked) => (ENDS[kind](asked) ? { status: 504 } : undefined) });
    expect(await failed(kind, cloud.fetch)).toMatchObject({
      code: 'http-status',
      left: mayAppear('the only response was 504, perhaps from a proxy'),
    });
  });

  test.each(UNSURE)('%s: the object may still appear after a broken connection', async (kind) => {
    const cloud = cloudOf({ fault: (_, asked) => (ENDS[kind](asked) ? 'drop' : undefined) });
    expect(await failed(kind, cloud.fetch)).toMatchObject({
      code: 'no-answer',
      left: mayAppear('it had not answered'),
    });
  });

  test.each(UNSURE)('%s: it will not after an error of the server itself', async (kind) => {
    const body = '<Error><Code>ServiceUnavailable</Code></Error>';
    const cloud = cloudOf({ answer: (asked) => (ENDS[kind](asked) ? { status: 503, body } : undefined) });
    expect(await failed(kind, cloud.fetch)).toEqual({ code: 'http-status', left: undefined });
  });

  test('put: the object may still appear after 202', async () => {
    const cloud = cloudOf({
      answer: (asked) => (ENDS.put(asked) ? later(3500).then(() => ({ status: 202 })) : undefined),
    });
    expect(await cancelled('put', cloud)).toMatchObject(mayAppear('it answered 202'));
  });

  test.each(['put', 'block blob'] as const)('%s: another new object is named', async (kind) => {
    const cloud = cloudOf();
    const look = () => new Response(null, { headers: { Date: at(0), 'Last-Modified': at(0), 'Content-Length': '1' } });
    expect(await failed(kind, looking(cloud, kind, look))).toMatchObject({
      code: 'object-differs',
      left: mayStay,
    });
  });

  test('gcs: the session has completed another object', async () => {
    const cloud = cloudOf({
      answer: (asked) => (ENDS.gcs(asked) || LOOKS.gcs(asked) ? { status: 200, body: '{ "size": "1" }' } : undefined),
    });
    expect(await failed('gcs', cloud.fetch)).toMatchObject({ code: 'object-differs', left: stays });
  });

  test('gcs: a response of the session without an object does not count', async () => {
    const cloud = cloudOf({
      answer: (asked) =>
        ENDS.gcs(asked) || LOOKS.gcs(asked) ? { status: asked.method === 'HEAD' ? 404 : 200 } : undefined,
    });
    expect(await failed('gcs', cloud.fetch)).toEqual({ code: 'upload-incomplete', left: undefined });
    expect(cloud.begun.size).toBe(0);
  });

  test('s3: the object has another ETag than its parts make', async () => {
    const cloud = cloudOf({
      headers: { Date: at(0), 'Last-Modified': at(0) },
      answer: (asked) => {
        if (!ENDS.s3(asked)) return undefined;
        const etag = `"${'0'.repeat(32)}-5"`;
        return {
          status: 200,
          body: `<CompleteMultipartUploadResult><ETag>${etag}</ETag></CompleteMultipartUploadResult>`,
        };
      },
    });
    const look = () => new Response(null, { headers: { Date: at(0), 'Last-Modified': at(0), 'Content-Length': '1' } });
    expect(await failed('s3', looking(cloud, 's3', look))).toMatchObject({ code: 'object-differs', left: mayStay });
  });

  test.each(REPLACING)('%s: a missing object is not named', async (kind) => {
    const fetch = looking(cloudOf(), kind, () => new Response(null, { status: 404, headers: html }));
    const { left } = await failed(kind, fetch);
    expect(left).toBeUndefined();
  });

  test.each(['put', 'block blob'] as const)('%s: a page instead of the response is not a refusal', async (kind) => {
    const cloud = cloudOf({ headers: { Date: at(0), 'Last-Modified': at(0) } });
    const fetch: typeof globalThis.fetch = async (url, init) => {
      const response = await cloud.fetch(url as string, init);
      const isEnd = ENDS[kind]({ method: init!.method!, url: String(url), headers: {}, length: 0 });
      return isEnd ? new Response('<html>', { status: 203, headers: html }) : response;
    };
    expect(await failed(kind, fetch)).toMatchObject({ code: 'http-status', left: stays });
  });

  test.each(REPLACING)('%s: after a refusal to complete it, the object is not checked', async (kind) => {
    const cloud = cloudOf({ answer: (asked) => (ENDS[kind](asked) ? { status: 403 } : undefined) });
    expect(await failed(kind, cloud.fetch)).toEqual({ code: 'http-status', left: undefined });
    expect(cloud.asked.some(LOOKS[kind])).toBe(false);
  });
});
