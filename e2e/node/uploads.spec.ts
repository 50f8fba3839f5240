// Uploads from Node: the right object or a clear error, whatever the server does, and never a part of an object.

import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type * as Decant from '../../dist/node.js';
import type * as Upload from '../../dist/upload.js';
import { startProgram } from '../support/command.js';
import { failure } from '../support/failure.js';
import { small } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { random } from '../support/random.js';
import { byScope } from '../support/scope.js';
import { takeUploads, UPLOAD_FAULTS, type UploadFault, type UploadServer } from '../support/uploads.js';

const dist = (name: string) => fileURLToPath(new URL(`../../dist/${name}.js`, import.meta.url));
const decant = (await import(dist('node'))) as typeof Decant;
const upload = (await import(dist('upload'))) as typeof Upload;

const LONG = byScope({ short: false, long: true });
/** Waits for little: faults pass at once here. */
const QUICK = { timeout: 2, patience: 20 };

let server: UploadServer | undefined;
test.afterEach(async () => {
  await server?.close();
  server = undefined;
});
test.afterAll(() => decant.dispose());

const KEYS = { accessKeyId: 'public', secretAccessKey: 'secret' };
const PATH = '/disks/a disk.img';

/** How each server is uploaded to, and where the object is then. */
const TARGETS: Record<string, { target: (origin: string) => Decant.Target; format?: string; prefix: string }> = {
  s3: {
    prefix: '/s3',
    target: (origin) => upload.s3Target({ url: `${origin}/s3${PATH}`, keys: KEYS, ...QUICK }),
  },
  gcs: { prefix: '/gcs', target: (origin) => upload.gcsTarget({ url: `${origin}/gcs${PATH}`, ...QUICK }) },
  tus: { prefix: '/tus', target: (origin) => upload.tusTarget(`${origin}/tus/files`, QUICK) },
  put: { prefix: '/put', target: (origin) => upload.putTarget(`${origin}/put${PATH}`, QUICK) },
  'page blob': {
    prefix: '/azure',
    format: 'vpc',
    target: (origin) => upload.azurePageBlobTarget(`${origin}/azure${PATH}?sig=secret`, QUICK),
  },
  'block blob': {
    prefix: '/azure',
    target: (origin) => upload.azureBlockBlobTarget(`${origin}/azure${PATH}?sig=secret`, QUICK),
  },
};

/** A raw disk with data, holes, and a last part that is not full. */
function disk(size: number, seed = 7): Buffer {
  const next = random(seed);
  const bytes = Buffer.alloc(size);
  for (let at = 0; at < size; at += 3 << 20) {
    if (next() < 0.5) randomBytes(Math.min(1 << 20, size - at)).copy(bytes, at + 4096 * Math.floor(next() * 64));
  }
  return bytes;
}
const RAW = disk((17 << 20) + 512);

async function convert(
  input: Buffer,
  target: Decant.Target,
  options: Decant.ConvertOptions = {},
): Promise<Decant.Result> {
  const image = await decant.open(new Uint8Array(input), { format: 'raw' });
  try {
    return await image.convert(target, options);
  } finally {
    await image.close();
  }
}

/** What `input` becomes in `format`. */
async function expected(input: Buffer, format = 'raw'): Promise<Buffer> {
  if (format === 'raw') return input;
  const pieces: Buffer[] = [];
  const stream = new WritableStream<Uint8Array>({ write: (piece) => void pieces.push(Buffer.from(piece)) });
  const image = await decant.open(new Uint8Array(input), { format: 'raw' });
  await image.convert(stream, { format });
  await image.close();
  return Buffer.concat(pieces);
}

/** The one object there is; `undefined` where there is none. */
function objectOf({ objects }: UploadServer): Buffer | undefined {
  expect(objects.size).toBeLessThanOrEqual(1);
  return [...objects.values()][0];
}

/** A VHD has an identifier and a time of its own. */
const withoutFooter = (bytes: Buffer, format: string | undefined): Buffer =>
  format === 'vpc' ? bytes.subarray(0, -512) : bytes;

/** Whether a fault ends the upload. */
const lasts = (name: string, fault: UploadFault): boolean => UPLOAD_FAULTS[fault] === 'lasts' || name === 'put';

/** Statuses are told apart by what all protocols share, so one of them is enough for a sample. */
function faultsOf(name: string): UploadFault[] {
  const all = Object.keys(UPLOAD_FAULTS) as UploadFault[];
  const isSample = (fault: UploadFault) => !fault.startsWith('status') || ['status 503', 'status 403'].includes(fault);
  return LONG || name === 's3' ? all : all.filter(isSample);
}

for (const [name, { target, format, prefix }] of Object.entries(TARGETS)) {
  test(`${name}: the object is the disk`, async () => {
    server = await takeUploads();
    const made = target(server.origin);
    const result = await convert(RAW, made, format ? { format } : {});
    const whole = await expected(RAW, format);
    expect(result.outputSize).toBe(whole.length);
    const object = objectOf(server)!;
    expect(withoutFooter(object, format).equals(withoutFooter(whole, format))).toBe(true);
    expect(object.length).toBe(whole.length);
    expect(server.begun.size).toBe(0);
    const [path] = [...server.objects.keys()];
    expect(decodeURIComponent(path!)).toContain(name === 'tus' ? '/tus/files/' : `${prefix}${PATH}`);
    expect(made.network!.sent).toBeGreaterThan(0);
  });

  for (const [nth, fault] of faultsOf(name).entries()) {
    test(`${name}, ${fault}: the right object or an error`, async () => {
      test.setTimeout(120_000);
      const whole = await expected(RAW, format);
      for (const at of LONG ? [0, 1, 2, 3, 4, 5, 6] : [nth % 4]) {
        let met = false;
        const hasFault = (number: number) => {
          met ||= number === at;
          return number === at;
        };
        server = await takeUploads({ fault: (number) => (hasFault(number) ? fault : undefined) });
        const told = await failure(convert(RAW, target(server.origin), format ? { format } : {}));
        const object = objectOf(server);
        if (!met || !lasts(name, fault)) {
          expect(told, `at ${at}`).toBe('nothing failed');
          expect(withoutFooter(object!, format).equals(withoutFooter(whole, format))).toBe(true);
        } else {
          expect(told, `at ${at}`).toMatch(/^sink: Could not upload to 'http:\/\/127\.0\.0\.1:\d+\/[^?']*': /);
          expect(told).not.toContain('secret');
          // Whoever gets no answer does not know whether all has arrived.
          if (object && fault !== 'lost answer') expect(object.equals(Buffer.alloc(0))).toBe(true);
        }
        await server.close();
      }
    });
  }

  test(`${name}: a cancel leaves nothing`, async () => {
    server = await takeUploads({ fault: (number) => (number > 1 || name === 'put' ? 'silent' : undefined) });
    const patient = { ...(format ? { format } : {}), signal: AbortSignal.timeout(400) };
    expect(await failure(convert(RAW, target(server.origin), patient))).toBe('cancelled: The conversion was cancelled');
    await expect.poll(() => server!.begun.size).toBe(0);
    await expect.poll(() => server!.objects.size).toBe(0);
  });
}

const SEEDS = LONG ? 1000 : 48;

test(`servers that fail at random, ${SEEDS} seeds: the right object or an error`, async () => {
  test.setTimeout(3_600_000);
  const raw = disk((9 << 20) + 512, 3);
  const ends = { right: 0, failed: 0 };
  const names = Object.keys(TARGETS);
  const kinds = Object.keys(UPLOAD_FAULTS) as UploadFault[];
  const passing = kinds.filter((fault) => UPLOAD_FAULTS[fault] === 'passes');
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const name = names[seed % names.length]!;
    const { target, format } = TARGETS[name]!;
    const next = random(seed * 7919 + 1);
    // Half of the servers fail only in ways that pass.
    const choice = Math.floor(seed / names.length) % 2 === 0 ? passing : kinds;
    const share = next() * 0.3;
    const met = new Set<UploadFault>();
    const fault = () => {
      if (next() >= share) return undefined;
      const kind = choice[Math.floor(next() * choice.length)]!;
      met.add(kind);
      return kind;
    };
    server = await takeUploads({ fault });
    const whole = await expected(raw, format);
    const told = await failure(convert(raw, target(server.origin), format ? { format } : {}));
    const object = objectOf(server);
    await server.close();
    const isRight = object !== undefined && withoutFooter(object, format).equals(withoutFooter(whole, format));
    const row = `seed ${seed}, ${name}, ${[...met].join(', ')}: ${told}`;
    if (told === 'nothing failed') expect(isRight, row).toBe(true);
    else {
      expect(told, row).toMatch(/^sink: Could not upload to 'http:/);
      // Whoever gets no answer does not know whether all has arrived.
      const isUnknown = met.has('lost answer') && isRight;
      expect(object === undefined || isUnknown || object.equals(Buffer.alloc(0)), row).toBe(true);
    }
    if (choice === passing && name !== 'put') expect(told, row).toBe('nothing failed');
    ends[told === 'nothing failed' ? 'right' : 'failed'] += 1;
  }
  server = undefined;
  expect(ends.right).toBeGreaterThan(SEEDS / 2);
  expect(ends.failed).toBeGreaterThan(0);
});

test('s3: parts that arrive as something else are sent again, and in the end refused', async () => {
  server = await takeUploads({ damages: (number) => number === 2 });
  await convert(RAW, TARGETS.s3!.target(server.origin));
  expect(objectOf(server)?.equals(RAW)).toBe(true);
  await server.close();
  server = await takeUploads({ damages: (number) => number > 1 });
  expect(await failure(convert(RAW, TARGETS.s3!.target(server.origin)))).toMatch(/stored other bytes than were sent/);
  expect(server.objects.size).toBe(0);
  await expect.poll(() => server!.begun.size).toBe(0);
});

test('s3: presigned URLs of a callback', async () => {
  server = await takeUploads();
  const asked: string[] = [];
  const sign = async ({ action, query, partNumber }: Upload.S3Request) => {
    asked.push(partNumber === undefined ? action : `${action} ${partNumber}`);
    return `${server!.origin}/s3${PATH}?${query}`;
  };
  await convert(RAW, upload.s3Target({ sign, ...QUICK }));
  expect(objectOf(server)?.equals(RAW)).toBe(true);
  expect(asked).toEqual(['create', 'part 1', 'part 2', 'part 3', 'complete']);
});

test('progress counts what has gone over the network, and what was made again', async () => {
  server = await takeUploads({ fault: (number) => (number === 2 ? 'status 503' : undefined) });
  const seen: (Decant.Network | undefined)[] = [];
  const onProgress = ({ network }: Decant.Progress) => void seen.push(network);
  const target = TARGETS.s3!.target(server.origin);
  await convert(RAW, target, { onProgress });
  expect(seen[0]).toEqual({ received: 0, sent: 0, retries: 0, silence: 0 });
  expect(seen.every((network) => network)).toBe(true);
  expect(target.network).toMatchObject({ received: 0, retries: 1 });
  expect(target.network!.sent).toBeGreaterThan(RAW.length);
  await convert(RAW, { write: async () => {}, close: async () => {}, abort: async () => {} }, { onProgress });
  expect(seen.at(-1)).toBeUndefined();
});

test('page blob: one that is there is left as it is', async () => {
  server = await takeUploads();
  const there = Buffer.from('of somebody else');
  server.objects.set(`/azure${PATH.replaceAll(' ', '%20')}`, there);
  const { target, format } = TARGETS['page blob']!;
  expect(await failure(convert(RAW, target(server.origin), { format: format! }))).toMatch(
    /there is a blob of this name already; remove it, or choose another name$/,
  );
  expect(objectOf(server)).toBe(there);
});

test('page blob: holes are not sent', async () => {
  server = await takeUploads();
  const sparse = Buffer.alloc(64 << 20);
  randomBytes(1 << 20).copy(sparse, 10 << 20);
  const { target, format } = TARGETS['page blob']!;
  await convert(sparse, target(server.origin), { format: format! });
  const sent = server.asked.reduce((sum, { length }) => sum + length, 0);
  expect(sent).toBe((1 << 20) + 512);
});

test('an output whose size nobody knows: right, or refused', async () => {
  for (const [name, { target }] of Object.entries(TARGETS)) {
    server = await takeUploads();
    const told = await failure(convert(RAW, target(server.origin), { format: 'raw.gz' }));
    if (name === 'page blob') {
      expect(told).toMatch(/A page blob takes an output whose size is known before/);
      expect(server.asked).toEqual([]);
    } else {
      expect(told).toBe('nothing failed');
      expect(gunzipSync(objectOf(server)!).equals(RAW), name).toBe(true);
    }
    await server.close();
  }
});

test('headers of the caller, and user and password of an address, which no message shows', async () => {
  server = await takeUploads();
  const headers = async () => ({ 'X-Token': 'fresh' });
  await convert(RAW, upload.putTarget(`${server.origin}/put${PATH}`, { headers }));
  expect(server.asked[0]!.headers['x-token']).toBe('fresh');
  const address = `${server.origin.replace('http://', 'http://me:secret@')}/put${PATH}?secret`;
  await convert(RAW, upload.putTarget(address));
  expect(server.asked[1]!.headers.authorization).toBe(`Basic ${Buffer.from('me:secret').toString('base64')}`);
  await server.close();
  const told = await failure(convert(RAW, upload.putTarget(address, QUICK)));
  expect(told).toMatch(/^sink: Could not upload to '[^?@]*': no answer came from/);
});

/** Runs the command with `env` in its environment. */
const command = (env: Record<string, string>, ...args: string[]) =>
  startProgram(process.execPath, [dist('cli'), 'convert', ...args], env).ended;
const AWS = { AWS_ACCESS_KEY_ID: 'public', AWS_SECRET_ACCESS_KEY: 'secret', AWS_REGION: 'eu-north-1' };
const SAS = { AZURE_STORAGE_SAS_TOKEN: 'sv=1&sig=secret' };

for (const [what, args, env, seen] of [
  ['one PUT', [], {}, /^PUT \/put\/disk$/],
  ['S3, by keys of the environment', ['--upload', 's3'], AWS, /&X-Amz-Credential=public%2F\d+%2Feu-north-1%2Fs3%2F/],
  ['GCS', ['--upload', 'gcs'], {}, /^PUT \/gcs\/disk\?upload_id=/],
  ['tus', ['--upload', 'tus'], {}, /^PATCH \/tus\/disk\//],
  ['a page blob, by a signature of the environment', ['--upload', 'azure', '-O', 'vpc'], SAS, /comp=page$/],
  ['a block blob', ['--upload', 'azure'], SAS, /^PUT \/azure\/disk\?sv=1&sig=secret&comp=block&/],
] as const) {
  test(`the command: ${what}`, async ({ folder }) => {
    server = await takeUploads();
    const headers = join(folder, 'headers');
    writeFileSync(headers, 'X-Token: secret\n');
    const place = args[1] ?? 'put';
    const given = place === 's3' ? [] : ['--upload-header-file', headers];
    const ended = await command(env, ...args, ...given, small.zlib(), `${server.origin}/${place}/disk`);
    expect(ended).toMatchObject({ status: 0, stdout: '', stderr: '' });
    const object = objectOf(server)!;
    const raw = readFileSync(small.raw());
    expect(object.subarray(0, raw.length).equals(raw)).toBe(true);
    expect(server.asked.map(({ method, url }) => `${method} ${url}`).filter((line) => seen.test(line))).not.toEqual([]);
    if (place !== 's3') expect(server.asked[0]!.headers['x-token']).toBe('secret');
  });
}

for (const [what, args, sentence] of [
  [
    'no keys',
    ['--upload', 's3', '{image}', 'http://127.0.0.1:1/b/k'],
    /set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/,
  ],
  [
    'an unknown kind',
    ['--upload', 'ftp', '{image}', 'http://127.0.0.1:1/'],
    /--upload takes s3, gcs, tus, azure, not 'ftp'/,
  ],
  ['a kind for a file', ['--upload', 'tus', '{image}', 'out.raw'], /need an http or https address as the output/],
  ['--sync', ['--sync', '{image}', 'http://127.0.0.1:1/'], /--sync needs a file, not a server/],
] as const) {
  test(`the command refuses ${what}`, async () => {
    const ended = await command({}, ...args.map((argument) => (argument === '{image}' ? small.zlib() : argument)));
    expect(ended.stderr).toMatch(sentence);
    expect(ended.status).toBe(2);
  });
}

test('the command: an interrupt leaves nothing on the server', async () => {
  server = await takeUploads({ fault: (number) => (number > 1 ? 'silent' : undefined) });
  const args = [dist('cli'), 'convert', '--upload', 's3', small.zlib(), `${server.origin}/s3/disk`];
  const { child, ended } = startProgram(process.execPath, args, AWS);
  await expect.poll(() => server!.begun.size).toBe(1);
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ status: 130, stderr: expect.stringContaining('interrupted') });
  await expect.poll(() => server!.begun.size).toBe(0);
});
