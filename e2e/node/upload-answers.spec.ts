// Uploads and the conversions that make them: their failures, their progress, and who owns a target. What servers may answer:
// the unit tests in worker/upload.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import type * as Upload from '../../dist/upload.js';
import { failure } from '../support/failure.js';
import { qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { rawDisk } from '../support/upload-disks.js';
import { takeUploads, type UploadServer } from '../support/uploads.js';

const dist = (name: string) => fileURLToPath(new URL(`../../dist/${name}.js`, import.meta.url));
const decant = (await import(dist('node'))) as typeof Decant;
const upload = (await import(dist('upload'))) as typeof Upload;

const KEYS = { accessKeyId: 'public', secretAccessKey: 'secret' };
const MIB = 1 << 20;
/** For polls: longer than anything takes on a busy machine. */
const PATIENTLY = { timeout: 60_000 };
/** Three parts of S3, two chunks of Google and tus. */
const RAW = rawDisk(17 * MIB);

let server: UploadServer;
test.beforeEach(async () => {
  server = await takeUploads();
});
test.afterEach(() => server.close());
test.afterAll(() => decant.dispose());

/** Replaces the server by one that behaves in another way. */
async function serveWith(options: Parameters<typeof takeUploads>[0]): Promise<void> {
  await server.close();
  server = await takeUploads(options);
}

/** Converts `input`; resolves to the failure as a person sees it. */
async function converted(
  input: Buffer | Decant.Source,
  target: Decant.Target,
  options: Decant.ConvertOptions = {},
): Promise<string> {
  const work = async () => {
    const image = await decant.open(input instanceof Buffer ? new Uint8Array(input) : input, { inputFormat: 'raw' });
    try {
      await image.convert(target, options);
    } finally {
      await image.close();
    }
  };
  return failure(work());
}

const s3 = () => upload.s3Target({ url: `${server.origin}/s3/disk`, keys: KEYS });
const gcs = () => upload.gcsTarget({ url: `${server.origin}/gcs/disk` });
const tus = () => upload.tusTarget({ url: `${server.origin}/tus/files` });
const put = () => upload.putTarget({ url: `${server.origin}/put/disk` });

/** Holds the answer to each PUT; resolves to what lets them go, one after the other. */
function holdParts(): (() => void)[] {
  const held: (() => void)[] = [];
  server.before = ({ method }) => (method === 'PUT' ? new Promise<void>((done) => held.push(done)) : undefined);
  return held;
}

test('gcs: a chunk that is redirected elsewhere goes nowhere', { tag: '@full' }, async () => {
  let asked = 0;
  const elsewhere = createServer((request, response) => {
    asked += 1;
    request.resume().on('end', () => response.end('<html>please log in</html>'));
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  const Location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/login`;
  for (const status of [302, 303, 307]) {
    await serveWith({
      answer: ({ headers }) =>
        /\/\d+$/.test(headers['content-range'] ?? '') ? { status, headers: { Location } } : undefined,
    });
    expect(await converted(RAW, gcs())).toContain('the server redirects');
    expect(asked).toBe(0);
    expect(server.objects.size).toBe(0);
  }
  elsewhere.close();
});

/** A disk that is found to be another one when all of it was read. */
const changing = (): Decant.Source => ({
  size: RAW.length,
  state: 'one',
  read: async (offset, length) => new Uint8Array(RAW.subarray(offset, offset + length)),
  verify: async () => {
    throw new Error('it was changed');
  },
});

for (const [name, target, format, isShort] of [
  ['one PUT', put, 'raw', false],
  ['one PUT, chunked', put, 'raw.gz', true],
  ['s3', s3, 'raw', true],
  ['gcs', gcs, 'raw', false],
  ['tus', tus, 'raw', false],
] as const) {
  const tag = isShort ? {} : { tag: '@full' };
  test(`${name}: a conversion that fails at its end leaves no object`, tag, async () => {
    expect(await converted(changing(), target(), { format })).toBe('source: Could not read the image: it was changed');
    await expect.poll(() => server.begun.size, PATIENTLY).toBe(0);
    expect(server.objects.size).toBe(0);
  });
}

test('a target can be used for one conversion, whose object stays', async () => {
  const once = s3();
  expect(await converted(RAW, once)).toBe('nothing failed');
  const [object] = [...server.objects.values()].map((bytes) => Buffer.from(bytes));
  const asked = server.asked.length;
  expect(await converted(Buffer.alloc(MIB), once)).toContain('can be used for one conversion only');
  expect([...server.objects.values()][0]!.equals(object!)).toBe(true);
  expect(server.asked).toHaveLength(asked);
});

test('a server is asked again to forget an upload, though the conversion has ended', { tag: '@full' }, async () => {
  let busy = 3;
  await serveWith({
    fault: (_, { method }) => (method === 'PUT' ? 'status 403' : undefined),
    faultAtEnd: () => {
      busy -= 1;
      return busy >= 0 ? 'drop' : undefined;
    },
  });
  expect(await converted(RAW, s3())).toContain('403');
  await expect.poll(() => server.begun.size, PATIENTLY).toBe(0);
  expect(busy).toBe(-1);
});

test('bytes sent after all was read are reported while they are sent', async () => {
  // The answer to a part is held until progress has told what was sent before.
  const held = holdParts();
  const sent = new Set<number>();
  const onProgress = ({ phase, network }: Decant.Progress) => {
    if (phase === 'finalizing') sent.add(network!.sent);
  };
  const converting = converted(RAW, s3(), { onProgress });
  for (let part = 1; part <= 3; part += 1) {
    await expect.poll(() => [held.length, sent.size], PATIENTLY).toEqual([4 - part, part]);
    held.shift()!();
  }
  expect(await converting).toBe('nothing failed');
});

test('holes are done when they are sent', FULL, async ({ folder }) => {
  const path = join(folder, 'empty.qcow2');
  qemuImg('create', '-q', '-f', 'qcow2', path, '128M');
  let ahead = 0;
  const onProgress = ({ guestDone = 0, network }: Decant.Progress) => {
    ahead = Math.max(ahead, guestDone - network!.sent);
  };
  const image = await decant.open(path);
  await image.convert(s3(), { onProgress });
  await image.close();
  // Four parts are under way at once, and a few pieces wait for their turn.
  expect(ahead).toBeLessThan(64 * MIB);
});

test('a target of a conversion under way stays its own', async () => {
  const held = holdParts();
  const target = s3();
  const converting = converted(RAW, target);
  await expect.poll(() => held.length, PATIENTLY).toBe(3);
  const other = Buffer.alloc(MIB);
  expect(await converted(other, target, { format: 'other' })).toContain("There is no output format 'other'");
  expect(await converted(other, target)).toContain('Another conversion is writing to this target');
  for (const answer of held) answer();
  expect(await converting).toBe('nothing failed');
  expect([...server.objects.values()][0]!.equals(RAW)).toBe(true);
});
