// Servers of uploads that answer in ways that are easily taken for success, and conversions that fail late: never an object
// that looks complete and is not.

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type * as Decant from '../../dist/node.js';
import type * as Upload from '../../dist/upload.js';
import { failure } from '../support/failure.js';
import { qemuImg } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { takeUploads, type UploadServer } from '../support/uploads.js';

const dist = (name: string) => fileURLToPath(new URL(`../../dist/${name}.js`, import.meta.url));
const decant = (await import(dist('node'))) as typeof Decant;
const upload = (await import(dist('upload'))) as typeof Upload;

const QUICK = { timeout: 2, patience: 20 };
const KEYS = { accessKeyId: 'public', secretAccessKey: 'secret' };
const MIB = 1 << 20;
/** More than a chunk. */
const RAW = randomBytes(17 * MIB);

let server: UploadServer | undefined;
test.afterEach(async () => {
  await server?.close();
  server = undefined;
});
test.afterAll(() => decant.dispose());

/** What becomes of `input`; what fails, as a person sees it. */
async function converted(
  input: Buffer | Decant.Source,
  target: Decant.Target,
  options: Decant.ConvertOptions = {},
): Promise<string> {
  const work = async () => {
    const image = await decant.open(input instanceof Buffer ? new Uint8Array(input) : input, { format: 'raw' });
    try {
      await image.convert(target, options);
    } finally {
      await image.close();
    }
  };
  return failure(work());
}

const s3 = (options = {}) => upload.s3Target({ url: `${server!.origin}/s3/disk`, keys: KEYS, ...QUICK, ...options });
const gcs = (options = {}) => upload.gcsTarget({ url: `${server!.origin}/gcs/disk`, ...QUICK, ...options });
const tus = () => upload.tusTarget(`${server!.origin}/tus/files`, QUICK);
const put = () => upload.putTarget(`${server!.origin}/put/disk`, QUICK);

/** A server that takes everything and says that it is well. */
async function startElsewhere(): Promise<{ origin: string; asked: () => number; close(): void }> {
  let asked = 0;
  const other = createServer((request, response) => {
    asked += 1;
    request.resume().on('end', () => response.end('<html>please log in</html>'));
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  return { origin, asked: () => asked, close: () => void other.close() };
}

for (const status of [302, 303, 307]) {
  test(`gcs: a chunk that is redirected elsewhere, by ${status}, goes nowhere`, async () => {
    const elsewhere = await startElsewhere();
    server = await takeUploads({
      answer: ({ headers }, response) => {
        if (!/\/\d+$/.test(headers['content-range'] ?? '')) return false;
        response.writeHead(status, { Location: `${elsewhere.origin}/login` }).end();
        return true;
      },
    });
    expect(await converted(RAW, gcs())).toContain('the server redirects elsewhere');
    expect(elsewhere.asked()).toBe(0);
    expect(server.objects.size).toBe(0);
    elsewhere.close();
  });
}

test('gcs: what is complete before its end is not', async () => {
  server = await takeUploads({
    answer: ({ method }, response) => {
      if (method === 'PUT') response.end();
      return method === 'PUT';
    },
  });
  expect(await converted(RAW, gcs())).toContain('the server says that the upload is complete before it is');
});

test('gcs: a server that never says how much it has is not asked for ever', async () => {
  server = await takeUploads({
    answer: ({ method }, response) => {
      if (method === 'PUT') response.writeHead(308).end();
      return method === 'PUT';
    },
  });
  expect(await converted(RAW, gcs())).toContain("the bucket's CORS rules have to name Range");
  expect(server.asked.length).toBeLessThan(10);
});

test('gcs: a disk that is larger than an object may be is refused before the first request', async () => {
  server = await takeUploads();
  const huge: Decant.Source = { size: 6 * 2 ** 40, read: async (_, length) => new Uint8Array(length) };
  expect(await converted(huge, gcs())).toMatch(/^sink: An object has at most 5497558138880 bytes/);
  expect(server.asked).toEqual([]);
});

test('tus: a server that takes nothing of a chunk is asked again ever more slowly', async () => {
  server = await takeUploads({
    answer: ({ method }, response) => {
      if (method === 'PATCH') response.writeHead(204, { 'Upload-Offset': 0 }).end();
      return method === 'PATCH';
    },
  });
  const target = upload.tusTarget(`${server.origin}/tus/files`, { timeout: 1, patience: 2 });
  expect(await converted(RAW, target)).toContain('the server has taken nothing of what was sent');
  expect(server.asked.length).toBeLessThan(20);
});

for (const fault of ['lost answer', 'drop', 'cut'] as const) {
  test(`tus, a size that nobody knows, ${fault} at the end: it is said once`, async () => {
    let left = 1;
    server = await takeUploads({
      fault: (_, { headers }) => {
        if (headers['upload-length'] === undefined || left === 0) return undefined;
        left -= 1;
        return fault;
      },
    });
    expect(await converted(RAW, tus(), { format: 'raw.gz' })).toBe('nothing failed');
    expect(left).toBe(0);
    expect(gunzipSync([...server.objects.values()][0]!).equals(RAW)).toBe(true);
  });
}

/** A disk that is found to be another one when all of it was read. */
const changing = (): Decant.Source => ({
  size: RAW.length,
  state: 'one',
  read: async (offset, length) => new Uint8Array(RAW.subarray(offset, offset + length)),
  verify: async () => {
    throw new Error('it was changed');
  },
});

for (const [name, target, format] of [
  ['one PUT', put, 'raw'],
  ['one PUT, chunked', put, 'raw.gz'],
  ['s3', s3, 'raw'],
  ['gcs', gcs, 'raw'],
  ['tus', tus, 'raw'],
] as const) {
  test(`${name}: a conversion that fails at its end leaves no object`, async () => {
    server = await takeUploads();
    expect(await converted(changing(), target(), { format })).toBe('source: Could not read the image: it was changed');
    await expect.poll(() => server!.begun.size).toBe(0);
    expect(server.objects.size).toBe(0);
  });
}

test('s3: an older object is not taken for this one where its ETag is no digest', async () => {
  const older = `"${'0'.repeat(32)}-3"`;
  server = await takeUploads({
    answer: ({ method, url }, response) => {
      const isCompletion = method === 'POST' && url!.includes('uploadId');
      if (isCompletion) response.writeHead(server!.begun.size > 0 ? 500 : 404).end();
      if (isCompletion) server!.begun.clear();
      if (method === 'HEAD') response.writeHead(200, { ETag: older }).end();
      return isCompletion || method === 'HEAD';
    },
    headers: { 'x-amz-server-side-encryption': 'aws:kms' },
  });
  expect(await converted(RAW, s3())).toContain('it is not known whether the upload was completed');
});

for (const [name, target, format] of [
  ['s3', s3, 'raw'],
  ['one PUT', put, 'raw'],
  ['page blob', () => upload.azurePageBlobTarget(`${server!.origin}/azure/disk`, QUICK), 'vpc'],
  ['block blob', () => upload.azureBlockBlobTarget(`${server!.origin}/azure/disk`, QUICK), 'raw'],
] as const) {
  test(`${name}: a target is good for one conversion, whose object stays`, async () => {
    server = await takeUploads();
    const once = target();
    expect(await converted(RAW, once, { format })).toBe('nothing failed');
    const [object] = [...server.objects.values()].map((bytes) => Buffer.from(bytes));
    const asked = server.asked.length;
    expect(await converted(Buffer.alloc(MIB), once, { format })).toContain('good for one conversion');
    expect([...server.objects.values()][0]!.equals(object!)).toBe(true);
    expect(server.asked).toHaveLength(asked);
  });
}

for (const fault of ['status 503', 'drop'] as const) {
  test(`what a server is asked to forget it is asked again: ${fault}`, async () => {
    let busy = 3;
    server = await takeUploads({
      fault: (_, { method }) => (method === 'PUT' ? 'status 403' : undefined),
      faultAtEnd: () => {
        busy -= 1;
        return busy >= 0 ? fault : undefined;
      },
    });
    expect(await converted(RAW, s3())).toContain('403');
    await expect.poll(() => server!.begun.size).toBe(0);
    expect(busy).toBe(-1);
  });
}

test('a network that is slower than was thought gets the time that it needs', async () => {
  // A part has 8 MiB: it may take 1.25 s at first.
  server = await takeUploads({
    answer: ({ method }) => {
      server!.pause = method === 'PUT' ? 1500 : 0;
      return false;
    },
  });
  const target = s3({ timeout: 0.25, patience: 30 });
  expect(await converted(RAW, target)).toBe('nothing failed');
  expect(target.network!.retries).toBeGreaterThan(0);
  expect([...server.objects.values()][0]!.equals(RAW)).toBe(true);
});

test('s3: a server that shows that it still completes the object is waited for', async () => {
  let asked = 0;
  server = await takeUploads({
    answer: ({ method, url }, response) => {
      if (method !== 'POST' || !url!.includes('uploadId')) return false;
      asked += 1;
      response.writeHead(200);
      const space = setInterval(() => response.write(' '), 100);
      setTimeout(() => {
        clearInterval(space);
        response.end('<R></R>');
      }, 1500);
      return true;
    },
  });
  expect(await converted(RAW, s3({ timeout: 0.5 }))).toBe('nothing failed');
  expect(asked).toBe(1);
});

test('an answer that does not end is not kept', async () => {
  server = await takeUploads({
    answer: ({ method }, response) => {
      if (method !== 'PUT') return false;
      const more = () => {
        while (response.write(Buffer.alloc(MIB, 'a')));
      };
      response.writeHead(200).on('drain', more);
      more();
      return true;
    },
  });
  expect(await converted(RAW, put())).toContain('the answer of the server does not end');
});

test('a header that cannot be sent is told without its value', async () => {
  server = await takeUploads();
  const target = upload.putTarget(`${server.origin}/put/disk`, {
    ...QUICK,
    headers: { Authorization: 'Basic a\nsecret' },
  });
  const told = await converted(RAW, target);
  expect(told).toContain("The header 'Authorization' has a character that no header may have");
  expect(told).not.toContain('secret');
  expect(server.asked).toEqual([]);
});

test('what is sent when all was read is told while it is sent', async () => {
  // The answer to a part is held until progress has told what was sent before.
  const held: (() => void)[] = [];
  server = await takeUploads();
  server.hold = () => new Promise((resolve) => held.push(resolve));
  const sent = new Set<number>();
  const onProgress = ({ phase, network }: Decant.Progress) => {
    if (phase === 'finalizing') sent.add(network!.sent);
  };
  const converting = converted(RAW, s3({ timeout: 60 }), { onProgress });
  for (let part = 1; part <= 3; part += 1) {
    await expect.poll(() => [held.length, sent.size]).toEqual([4 - part, part]);
    held.shift()!();
  }
  expect(await converting).toBe('nothing failed');
});

test('holes that are sent are done when they are', async ({ folder }) => {
  server = await takeUploads();
  const path = join(folder, 'empty.qcow2');
  qemuImg('create', '-q', '-f', 'qcow2', path, '256M');
  let ahead = 0;
  const onProgress = ({ guestDone, network }: Decant.Progress) => {
    ahead = Math.max(ahead, guestDone - network!.sent);
  };
  const image = await decant.open(path);
  await image.convert(s3(), { onProgress });
  await image.close();
  // Only what is under way at once.
  expect(ahead).toBeLessThan(128 * MIB);
});

test('a target of a conversion under way stays its own', async () => {
  server = await takeUploads();
  const held: (() => void)[] = [];
  server.hold = () => new Promise((resolve) => held.push(resolve));
  const target = s3({ timeout: 60 });
  const converting = converted(RAW, target);
  await expect.poll(() => held.length).toBe(3);
  const other = Buffer.alloc(MIB);
  expect(await converted(other, target, { format: 'other' })).toContain("There is no output format 'other'");
  expect(await converted(other, target)).toContain('Another conversion writes to this target');
  for (const answer of held) answer();
  expect(await converting).toBe('nothing failed');
  expect([...server.objects.values()][0]!.equals(RAW)).toBe(true);
});
