// Uploads with `verify`: the object is the disk, as checksums or reading it back show, or the conversion fails. What each protocol
// offers: worker/upload/verifying.test.ts.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import type * as Upload from '../../dist/upload.js';
import { startProgram } from '../support/command.js';
import { expect, test } from '../support/node.js';
import { isDisk, qcow2Of, rawDisk } from '../support/upload-disks.js';
import { takeUploads, type UploadServer } from '../support/uploads.js';

const dist = (name: string) => fileURLToPath(new URL(`../../dist/${name}.js`, import.meta.url));
const decant = (await import(dist('node'))) as typeof Decant;
const upload = (await import(dist('upload'))) as typeof Upload;
test.afterAll(() => decant.dispose());

let server: UploadServer;
const serve = async (options?: Parameters<typeof takeUploads>[0]) => {
  server = await takeUploads(options);
};
test.afterEach(() => server.close());

const KEYS = { accessKeyId: 'public', secretAccessKey: 'secret' };
const MIB = 1 << 20;
/** Two parts of S3. */
const RAW = rawDisk((9 << 20) + 512);
/** Offsets with data: in the first MiB, and in the last sector. */
const EARLY = 4321;
const LATE = RAW.length - 100;

const TARGETS = {
  s3: () => upload.s3Target({ url: `${server.origin}/s3/disk`, keys: KEYS }),
  gcs: () => upload.gcsTarget({ url: `${server.origin}/gcs/disk` }),
  tus: () => upload.tusTarget({ url: `${server.origin}/tus/files` }),
  put: () => upload.putTarget({ url: `${server.origin}/put/disk` }),
  'page blob': () => upload.azurePageBlobTarget({ url: `${server.origin}/azure/disk?sig=secret` }),
  'block blob': () => upload.azureBlockBlobTarget({ url: `${server.origin}/azure/disk?sig=secret` }),
} satisfies Record<string, () => Decant.Target>;
type Kind = keyof typeof TARGETS;

async function convert(output: Decant.Output, options: Decant.ConvertOptions = {}): Promise<Decant.ConvertResult> {
  const image = await decant.open(new Uint8Array(RAW), { inputFormat: 'raw' });
  try {
    return await image.convert(output, { verify: true, ...options });
  } finally {
    await image.close();
  }
}

const failed = (output: Decant.Output, options?: Decant.ConvertOptions): Promise<Decant.DecantError> =>
  convert(output, options).then(
    () => {
      throw new Error('nothing failed');
    },
    (thrown) => thrown,
  );

test.describe('the right object', () => {
  for (const [kind, format, method, tag = '@full'] of [
    ['s3', 'raw', 'checksums', []],
    ['s3', 'qcow2', 'checksums'],
    ['gcs', 'tar.gz', 'checksums'],
    ['page blob', 'vpc', 'checksums', []],
    ['block blob', 'raw.gz', 'checksums'],
    ['put', 'raw', 'read-back', []],
    ['put', 'vpc', 'read-back'],
    ['put', 'raw.gz', 'read-back', []],
    ['put', 'tar.gz', 'read-back'],
  ] as [Kind, string, string, []?][]) {
    test(`${kind}, ${format}: ${method}`, { tag }, async () => {
      await serve();
      const { verified, virtualSize } = await convert(TARGETS[kind](), { format });
      expect(verified!.method).toBe(method);
      // A format may make the disk larger.
      expect(verified!.guestBytes).toBeGreaterThanOrEqual(virtualSize);
      // Checksums need no second look at the object.
      expect(server.asked.some(({ method }) => method === 'GET')).toBe(method === 'read-back');
    });
  }

  test('a temporary file, then a PUT', async () => {
    await serve();
    const { verified } = await convert(TARGETS.put(), {
      format: 'qcow2',
      formatOptions: { compress: 'on' },
      spool: true,
    });
    expect(verified).toMatchObject({ method: 'read-back' });
  });

  test('without verify, nothing is said or read', { tag: '@full' }, async () => {
    await serve();
    const result = await convert(TARGETS.put(), { verify: false });
    expect('verified' in result).toBe(false);
    expect(server.asked.map(({ method }) => method)).toEqual(['PUT', 'HEAD']);
  });
});

test.describe('a server that shows other bytes than it has received', () => {
  for (const at of [EARLY, LATE]) {
    test(`byte ${at}: the failure has the offset, and the object is removed`, async () => {
      await serve({
        shown: (object) => {
          const changed = Buffer.from(object);
          changed[at]! ^= 1;
          return changed;
        },
      });
      const error = await failed(TARGETS.put());
      expect(error).toMatchObject({ kind: 'target', code: 'verify-differs', fields: { offset: at } });
      expect(server.objects.size).toBe(0);
    });
  }

  test('a shorter object cannot be read', { tag: '@full' }, async () => {
    await serve({ shown: (object) => object.subarray(0, object.length - MIB) });
    const error = await failed(TARGETS.put(), { format: 'raw.gz' });
    expect(error.code).toMatch(/^verify-(unreadable|differs)$/);
    expect(server.objects.size).toBe(0);
  });

  test('an object that the server does not remove: the failure says where it stays', { tag: '@full' }, async () => {
    await serve({
      shown: (object) => Buffer.alloc(object.length),
      answer: ({ method }) => (method === 'DELETE' ? { status: 403 } : undefined),
    });
    const error = await failed(TARGETS.put());
    expect(error).toMatchObject({
      code: 'verify-differs',
      fields: { offset: 0, leftCode: 'left-behind', leftAt: `${server.origin}/put/disk`, leftStatus: 403 },
    });
    expect(isDisk(server.objects.get('/put/disk'), RAW)).toBe(true);
  });
});

test.describe('an output that cannot be verified', () => {
  test('is refused before anything is sent: tus, and a stream', async () => {
    await serve();
    for (const output of [TARGETS.tus(), new WritableStream()])
      expect(await failed(output)).toMatchObject({ kind: 'usage', code: 'verify-refused' });
    expect(server.asked).toEqual([]);
  });

  test('fails if the server shows the object to nobody', async () => {
    await serve({ answer: ({ method }) => (method === 'HEAD' ? { status: 403 } : undefined) });
    const error = await failed(TARGETS.put());
    expect(error).toMatchObject({ kind: 'target', code: 'not-verifiable' });
  });

  /** Refuses to show the object from request `first` on. */
  const refusing = (first: number) => {
    let reads = 0;
    return ({ method }: { method: string }) => (method === 'GET' && ++reads >= first ? { status: 403 } : undefined);
  };

  for (const [when, first] of [
    ['from the start', 1],
    ['midway', 2],
  ] as const) {
    test(`stays if its server refuses to show it ${when}`, async () => {
      await serve({ answer: refusing(first) });
      const error = await failed(TARGETS.put());
      expect(error).toMatchObject({ kind: 'target', code: 'not-verifiable' });
      expect(error.message).toContain('The output is complete, but could not be verified: ');
      expect(isDisk(server.objects.get('/put/disk'), RAW)).toBe(true);
      expect(server.asked.filter(({ method }) => method === 'DELETE')).toEqual([]);
    });

    test(`counts if its server refuses to show it ${when}, and only its place asks for the verification`, async () => {
      await serve({ answer: refusing(first) });
      const result = await convert(TARGETS.put(), { for: 'aws', verify: undefined });
      expect(result.verified).toBeUndefined();
      expect([...server.objects.keys()]).toEqual(['/put/disk']);
    });
  }

  test('counts if only its place asks for the verification', async () => {
    await serve({ answer: ({ method }) => (method === 'PUT' ? undefined : { status: 403 }) });
    const result = await convert(TARGETS.put(), { for: 'aws', verify: undefined });
    expect(result).toMatchObject({ confirmed: false, notices: [{ code: 'unconfirmed' }] });
    expect(result.verified).toBeUndefined();
  });
});

for (const [what, shown, expected] of [
  ['the right object', undefined, { status: 0, stderr: expect.stringContaining('read back') }],
  [
    'another object',
    (object: Buffer) => Buffer.alloc(object.length),
    { status: 1, stderr: expect.stringContaining('from byte 0 on') },
  ],
] as const) {
  test(`the command: ${what}`, { tag: shown ? '@full' : [] }, async ({ folder }) => {
    await serve(shown ? { shown } : {});
    const args = ['convert', '--verify', qcow2Of(RAW, folder), `${server.origin}/put/disk`];
    const { ended } = startProgram(process.execPath, [join(dist('cli')), ...args], {});
    expect(await ended).toMatchObject(expected);
    expect(server.objects.size).toBe(shown ? 0 : 1);
  });
}
