// Uploads from Node over HTTP: the right object or a clear error, and never a part of an object. Every fault at every request
// of every protocol: worker/upload/faults.test.ts.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type * as Decant from '../../dist/node.js';
import type * as Upload from '../../dist/upload.js';
import { ALL_FAULTS, type Asked, UPLOAD_FAULTS, type UploadFault } from '../support/cloud.js';
import { startProgram } from '../support/command.js';
import { failure } from '../support/failure.js';
import { expect, FULL, test } from '../support/node.js';
import { random } from '../support/random.js';
import { byScope } from '../support/scope.js';
import { isDisk, qcow2Of, rawDisk } from '../support/upload-disks.js';
import { queryFor, takeUploads, type UploadServer } from '../support/uploads.js';

const dist = (name: string) => fileURLToPath(new URL(`../../dist/${name}.js`, import.meta.url));
const decant = (await import(dist('node'))) as typeof Decant;
const upload = (await import(dist('upload'))) as typeof Upload;

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

/** For polls: longer than anything takes on a busy machine. */
const PATIENTLY = { timeout: 60_000 };

const KEYS = { accessKeyId: 'public', secretAccessKey: 'secret' };
const PATH = '/disks/a disk.img';

interface Row {
  target: (options?: Upload.UploadOptions) => Decant.Target;
  format?: string;
  /** Where the object is then. */
  prefix: string;
  /** The faults that `npm test` runs: each by one protocol. Which status is transient, the tests beside the sources say. */
  faults: UploadFault[];
}

/** How each protocol is uploaded to. */
const TARGETS: Record<'s3' | 'gcs' | 'tus' | 'put' | 'page blob' | 'block blob', Row> = {
  s3: {
    prefix: '/s3',
    target: (options) => upload.s3Target({ url: `${server.origin}/s3${PATH}`, keys: KEYS, ...options }),
    faults: ['late body', 'silent', 'status 500'],
  },
  gcs: {
    prefix: '/gcs',
    target: (options) => upload.gcsTarget({ url: `${server.origin}/gcs${PATH}`, ...options }),
    faults: ['cut'],
  },
  tus: {
    prefix: '/tus/files/',
    target: (options) => upload.tusTarget({ url: `${server.origin}/tus/files`, ...options }),
    faults: ['status 403'],
  },
  put: {
    prefix: '/put',
    target: (options) => upload.putTarget({ url: `${server.origin}/put${PATH}`, ...options }),
    faults: ['drop'],
  },
  'page blob': {
    prefix: '/azure',
    format: 'vpc',
    target: (options) => upload.azurePageBlobTarget({ url: `${server.origin}/azure${PATH}?sig=secret`, ...options }),
    faults: ['lost answer'],
  },
  'block blob': {
    prefix: '/azure',
    target: (options) => upload.azureBlockBlobTarget({ url: `${server.origin}/azure${PATH}?sig=secret`, ...options }),
    faults: ['redirect'],
  },
};
const ROWS: [string, Row][] = Object.entries(TARGETS);

/** The tag of a test that `npm test` leaves out, unless it is one of a few. */
const unless = (isShort: boolean) => (isShort ? {} : { tag: '@full' });

/** Three parts of S3, two chunks of Google and tus; the last one is not full. */
const RAW = rawDisk((17 << 20) + 512);

async function convert(
  input: Buffer,
  target: Decant.Target,
  options: Decant.ConvertOptions = {},
): Promise<Decant.ConvertResult> {
  const image = await decant.open(new Uint8Array(input), { inputFormat: 'raw' });
  try {
    return await image.convert(target, options);
  } finally {
    await image.close();
  }
}

const inFormat = (format: string | undefined): Decant.ConvertOptions => (format === undefined ? {} : { format });

/** The one object there is; `undefined` where there is none. */
function objectOf({ objects }: UploadServer): Buffer | undefined {
  expect(objects.size).toBeLessThanOrEqual(1);
  return [...objects.values()][0];
}

for (const [name, { target, format, prefix, faults }] of ROWS) {
  test(`${name}: the object is the disk`, async () => {
    const made = target();
    const result = await convert(RAW, made, inFormat(format));
    const object = objectOf(server)!;
    expect(isDisk(object, RAW, format)).toBe(true);
    expect(result).toMatchObject({ outputSize: object.length, confirmed: true });
    expect(server.begun.size).toBe(0);
    const [path] = [...server.objects.keys()];
    expect(decodeURIComponent(path!)).toContain(name === 'tus' ? prefix : `${prefix}${PATH}`);
    expect(made.network!.sent).toBeGreaterThan(0);
  });

  for (const [nth, fault] of ALL_FAULTS.entries()) {
    const isLasting = UPLOAD_FAULTS[fault] === 'lasts' || name === 'put';
    test(`${name}, ${fault}: the right object or an error`, unless(faults.includes(fault)), async () => {
      // Of one PUT there is one request; the last one of a small upload has the number 4.
      const places = name === 'put' ? [0] : [nth % 4];
      for (const at of byScope({ short: places, long: [0, 1, 2, 3, 4, 5, 6] })) {
        let isMet = false;
        await serveWith({
          fault: (number, { method }) => {
            // What may become of HEAD, which confirms the object: worker/upload/ends.test.ts.
            if (number !== at || method === 'HEAD') return undefined;
            isMet = true;
            return fault;
          },
        });
        // A silent server is all that has to be waited for: two seconds.
        const times = fault === 'silent' ? { timeout: 1, patience: name === 'put' ? 2 : 600 } : {};
        const failed = await failure(convert(RAW, target(times), inFormat(format)));
        const object = objectOf(server);
        if (isMet && isLasting) {
          expect(failed, `at ${at}`).toMatch(/^target: Could not upload to 'http:\/\/127\.0\.0\.1:\d+\/[^?']*': /);
          expect(failed).not.toContain('secret');
          // Without an answer nobody knows whether all has arrived.
          if (fault !== 'lost answer') expect(object, `at ${at}`).toBeUndefined();
        } else {
          expect(failed, `at ${at}`).toBe('nothing failed');
          expect(isDisk(object, RAW, format)).toBe(true);
        }
      }
    });
  }

  test(`${name}: a cancel leaves nothing`, unless(['s3', 'page blob'].includes(name)), async () => {
    // The second request is never answered; the first one is where there is no other.
    const silent = name === 'put' ? 0 : 1;
    await serveWith({
      fault: (number, { method }) => (number >= silent && method !== 'HEAD' ? 'silent' : undefined),
    });
    const ending = new AbortController();
    const work = failure(convert(RAW, target(), { ...inFormat(format), signal: ending.signal }));
    await expect.poll(() => server.asked.length, PATIENTLY).toBeGreaterThan(silent);
    ending.abort();
    // Nobody knows what a PUT that was sent whole will become.
    const doubt = name === 'put' ? "(; the object may still appear at '[^']*': .*)?" : '';
    expect(await work).toMatch(new RegExp(`^cancelled: The conversion was cancelled${doubt}$`));
    await expect.poll(() => server.begun.size, PATIENTLY).toBe(0);
    await expect.poll(() => server.objects.size, PATIENTLY).toBe(0);
  });

  test(`${name}: an output whose size nobody knows`, unless(['s3', 'page blob'].includes(name)), async () => {
    const failed = await failure(convert(RAW, target(), { format: 'raw.gz' }));
    if (name === 'page blob') {
      expect(failed).toMatch(/A page blob needs an output of known size/);
      expect(server.asked).toEqual([]);
    } else {
      expect(failed).toBe('nothing failed');
      expect(gunzipSync(objectOf(server)!).equals(RAW)).toBe(true);
    }
  });
}

const SEEDS = byScope({ short: 48, long: 1000 });

test(`servers that fail at random, ${SEEDS} seeds: the right object or an error`, { tag: '@full' }, async () => {
  test.setTimeout(3_600_000);
  const raw = rawDisk((9 << 20) + 512, 3);
  const ends = { right: 0, failed: 0 };
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const [name, { target, format }] = ROWS[seed % ROWS.length]!;
    const next = random(seed * 7919 + 1);
    const isMild = Math.floor(seed / ROWS.length) % 2 === 0;
    const choice = isMild ? ALL_FAULTS.filter((fault) => UPLOAD_FAULTS[fault] === 'passes') : ALL_FAULTS;
    const share = next() * 0.3;
    const met = new Set<UploadFault>();
    const fault = (_: number, { method }: Asked) => {
      if (next() >= share || method === 'HEAD') return undefined;
      const kind = choice[Math.floor(next() * choice.length)]!;
      met.add(kind);
      return kind;
    };
    await serveWith({ fault });
    // On a slow machine, faults that pass must not use up the patience. A PUT is not retried: it would only wait longer.
    const patience = isMild && name !== 'put' ? 600 : 20;
    const failed = await failure(convert(raw, target({ timeout: 2, patience }), inFormat(format)));
    const object = objectOf(server);
    const isRight = isDisk(object, raw, format);
    const row = `seed ${seed}, ${name}, ${[...met].join(', ')}: ${failed}`;
    if (failed === 'nothing failed') expect(isRight, row).toBe(true);
    else {
      expect(failed, row).toMatch(/^target: Could not upload to 'http:/);
      // Without an answer nobody knows whether all has arrived.
      expect(object === undefined || (met.has('lost answer') && isRight), row).toBe(true);
    }
    if (isMild && name !== 'put') expect(failed, row).toBe('nothing failed');
    ends[failed === 'nothing failed' ? 'right' : 'failed'] += 1;
  }
  expect(ends.right).toBeGreaterThan(SEEDS / 2);
  expect(ends.failed).toBeGreaterThan(0);
});

test('s3: parts that arrive damaged are sent again, and in the end refused', { tag: '@full' }, async () => {
  await serveWith({ damages: (number) => number === 2 });
  await convert(RAW, TARGETS.s3.target());
  expect(objectOf(server)?.equals(RAW)).toBe(true);
  await serveWith({ damages: (number) => number > 1 });
  expect(await failure(convert(RAW, TARGETS.s3.target()))).toMatch(/stored other bytes than were sent/);
  expect(server.objects.size).toBe(0);
  await expect.poll(() => server.begun.size, PATIENTLY).toBe(0);
});

test('s3: presigned URLs of a callback', async () => {
  const asked: string[] = [];
  const sign = async (request: Upload.S3Request) => {
    asked.push(request.action === 'part' ? `part ${request.partNumber}` : request.action);
    return `${server.origin}/s3${PATH}?${queryFor(request)}`;
  };
  await convert(RAW, upload.s3Target({ sign }));
  expect(objectOf(server)?.equals(RAW)).toBe(true);
  expect(asked).toEqual(['create', 'part 1', 'part 2', 'part 3', 'complete']);
});

test('progress counts what has gone over the network, and what was made again', async () => {
  await serveWith({ fault: (number) => (number === 2 ? 'status 429' : undefined) });
  const seen: (Decant.Network | undefined)[] = [];
  const onProgress = ({ network }: Decant.Progress) => void seen.push(network);
  const target = TARGETS.s3.target();
  await convert(RAW, target, { onProgress });
  expect(seen[0]).toEqual({ received: 0, sent: 0, retries: 0, silence: 0 });
  expect(seen.every((network) => network)).toBe(true);
  expect(target.network).toMatchObject({ received: 0, retries: 1 });
  expect(target.network!.sent).toBeGreaterThan(RAW.length);
  await convert(RAW, { write: async () => {}, close: async () => {}, abort: async () => {} }, { onProgress });
  expect(seen.at(-1)).toBeUndefined();
});

test('page blob: one that is there is left as it is', { tag: '@full' }, async () => {
  const there = Buffer.from('of somebody else');
  server.objects.set(`/azure${PATH.replaceAll(' ', '%20')}`, there);
  expect(await failure(convert(RAW, TARGETS['page blob'].target(), { format: 'vpc' }))).toMatch(
    /a blob with this name exists; remove it, or choose another name$/,
  );
  expect(objectOf(server)).toBe(there);
});

test('page blob: holes are not sent', async () => {
  const sparse = Buffer.alloc(64 << 20);
  RAW.copy(sparse, 10 << 20, 0, 1 << 20);
  await convert(sparse, TARGETS['page blob'].target(), { format: 'vpc' });
  const sent = server.asked.reduce((sum, { length }) => sum + length, 0);
  expect(sent).toBe((1 << 20) + 512);
});

test(
  'headers of the caller, and user and password of an address, which no message shows',
  { tag: '@full' },
  async () => {
    const headers = async () => ({ 'X-Token': 'fresh' });
    await convert(RAW, upload.putTarget({ url: `${server.origin}/put${PATH}`, headers }));
    expect(server.asked[0]!.headers['x-token']).toBe('fresh');
    const address = `${server.origin.replace('http://', 'http://me:secret@')}/put${PATH}?secret`;
    await convert(RAW, upload.putTarget({ url: address }));
    const [put, head] = server.asked.slice(-2).map(({ headers }) => headers.authorization);
    expect(put).toBe(`Basic ${Buffer.from('me:secret').toString('base64')}`);
    expect(head).toBe(put);
    await server.close();
    const failed = await failure(convert(RAW, upload.putTarget({ url: address })));
    expect(failed).toMatch(/^target: Could not upload to '[^?@]*': no answer came from/);
  },
);

/** Runs the command with `env` in its environment. */
const command = (env: Record<string, string>, ...args: string[]) =>
  startProgram(process.execPath, [dist('cli'), 'convert', ...args], env).ended;
const AWS = { AWS_ACCESS_KEY_ID: 'public', AWS_SECRET_ACCESS_KEY: 'secret', AWS_REGION: 'eu-north-1' };
const SAS = { AZURE_STORAGE_SAS_TOKEN: 'sv=1&sig=secret' };
/** Two parts of S3. */
const SMALL = rawDisk(9 << 20, 5);

for (const [what, args, env, seen, isShort] of [
  ['one PUT', [], {}, /^PUT \/put\/disk$/, false],
  [
    'S3, by keys of the environment',
    ['--upload', 's3'],
    AWS,
    /&X-Amz-Credential=public%2F\d+%2Feu-north-1%2Fs3%2F/,
    true,
  ],
  ['GCS', ['--upload', 'gcs'], {}, /^PUT \/gcs\/disk\?upload_id=/, false],
  ['tus', ['--upload', 'tus'], {}, /^PATCH \/tus\/disk\//, false],
  ['a page blob, by a signature of the environment', ['--upload', 'azure', '-O', 'vpc'], SAS, /comp=page$/, false],
  ['a block blob', ['--upload', 'azure'], SAS, /^PUT \/azure\/disk\?sv=1&sig=secret&comp=block&/, false],
] as const) {
  test(`the command: ${what}`, unless(isShort), async ({ folder }) => {
    const headers = join(folder, 'headers');
    writeFileSync(headers, 'X-Token: secret\n');
    const place = args[1] ?? 'put';
    const given = place === 's3' ? [] : ['--upload-header-file', headers];
    const ended = await command(env, ...args, ...given, qcow2Of(SMALL, folder), `${server.origin}/${place}/disk`);
    expect(ended).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(objectOf(server)!.subarray(0, SMALL.length).equals(SMALL)).toBe(true);
    expect(server.asked.map(({ method, url }) => `${method} ${url}`).filter((line) => seen.test(line))).not.toEqual([]);
    if (place !== 's3') expect(server.asked[0]!.headers['x-token']).toBe('secret');
  });
}

test('the command: -n writes to a page blob that is there, and removes none that it did not make', async ({
  folder,
}) => {
  const [image, url] = [qcow2Of(SMALL, folder), `${server.origin}/azure/managed`];
  const args = ['-n', '--upload', 'azure', '-O', 'vpc', image, url];
  expect(await command(SAS, ...args)).toMatchObject({
    status: 1,
    stderr: `decant: Could not upload to '${url}': there is no blob at this address\n`,
  });
  // A fixed VHD is the disk and a footer.
  server.objects.set('/azure/managed', Buffer.alloc(SMALL.length + 512));
  expect(await command(SAS, ...args)).toMatchObject({ status: 0, stdout: '', stderr: '' });
  expect(objectOf(server)!.subarray(0, SMALL.length).equals(SMALL)).toBe(true);
  expect(server.asked.filter(({ headers, method }) => headers['x-ms-blob-type'] || method === 'DELETE')).toEqual([]);
});

test('the command: -n to a page blob that fails half-way says what it has overwritten', FULL, async ({ folder }) => {
  // All pages but the last ones, with the footer, are stored.
  const isLast = ({ headers }: Asked) => headers['x-ms-range']?.endsWith(`-${SMALL.length + 511}`);
  await serveWith({ fault: (_, asked) => (isLast(asked) ? 'status 403' : undefined) });
  const [image, url] = [qcow2Of(SMALL, folder), `${server.origin}/azure/managed`];
  server.objects.set('/azure/managed', Buffer.alloc(SMALL.length + 512));
  const ended = await command(SAS, '-n', '--upload', 'azure', '-O', 'vpc', image, url);
  expect(ended.status).toBe(1);
  expect(ended.stderr).toMatch(
    /^decant: Could not upload to [^\n]* 403[^\n]*; the object at '[^']*managed' was overwritten in part\n$/,
  );
});

for (const [what, args, sentence] of [
  [
    'no keys',
    ['--upload', 's3', '{image}', 'http://127.0.0.1:1/b/k'],
    /set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/,
  ],
  [
    'an unknown kind',
    ['--upload', 'ftp', '{image}', 'http://127.0.0.1:1/'],
    /--upload takes s3, gcs, tus or azure, not 'ftp'/,
  ],
  ['a kind for a file', ['--upload', 'tus', '{image}', 'out.raw'], /need an http or https URL as the output/],
  ['--sync', ['--sync', '{image}', 'http://127.0.0.1:1/'], /--sync needs a file, not a server/],
  ['-n', ['-n', '--upload', 's3', '{image}', 'http://127.0.0.1:1/'], /-n needs a file, a block device or a page blob/],
] as const) {
  test(`the command refuses ${what}`, unless(what === 'an unknown kind'), async ({ folder }) => {
    const image = qcow2Of(SMALL, folder);
    const ended = await command({}, ...args.map((argument) => (argument === '{image}' ? image : argument)));
    expect(ended.stderr).toMatch(sentence);
    expect(ended.status).toBe(2);
  });
}

test('the command: an interrupt leaves nothing on the server', FULL, async ({ folder }) => {
  await serveWith({ fault: (number) => (number > 0 ? 'silent' : undefined) });
  const args = [dist('cli'), 'convert', '--upload', 's3', qcow2Of(SMALL, folder), `${server.origin}/s3/disk`];
  const { child, ended } = startProgram(process.execPath, args, AWS);
  await expect.poll(() => server.asked.length, PATIENTLY).toBeGreaterThan(1);
  expect(server.begun.size).toBe(1);
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ status: 130, stderr: expect.stringContaining('interrupted') });
  await expect.poll(() => server.begun.size, PATIENTLY).toBe(0);
});

test('the command: Ctrl-C while the upload is begun leaves nothing on the server', async ({ folder }) => {
  let answer = () => {};
  server.beforeAnswer = ({ method }) =>
    method === 'POST'
      ? new Promise<void>((done) => {
          answer = done;
        })
      : undefined;
  const args = [dist('cli'), 'convert', '-q', '--upload', 's3', qcow2Of(SMALL, folder), `${server.origin}/s3/disk`];
  const { child, ended } = startProgram(process.execPath, args, AWS);
  await expect.poll(() => server.begun.size, PATIENTLY).toBe(1);
  child.kill('SIGINT');
  // Nothing else is asked for until the server has answered.
  const timer = setInterval(answer, 100);
  expect(await ended).toMatchObject({ status: 130, stderr: 'decant: interrupted\n' });
  clearInterval(timer);
  expect(server.asked.map(({ method }) => method)).toEqual(['POST', 'DELETE']);
  expect(server.begun.size).toBe(0);
});

test(
  'the command: Ctrl-C while the server completes the object names the object',
  { tag: '@full' },
  async ({ folder }) => {
    const isCompletion = ({ method, url }: Asked) => method === 'POST' && url.includes('uploadId');
    // It is complete, and the answer does not come.
    server.beforeAnswer = (asked) => (isCompletion(asked) ? new Promise(() => {}) : undefined);
    const args = [dist('cli'), 'convert', '-q', '--upload', 's3', qcow2Of(SMALL, folder), `${server.origin}/s3/disk`];
    const { child, ended } = startProgram(process.execPath, args, AWS);
    await expect.poll(() => server.objects.size, PATIENTLY).toBe(1);
    child.kill('SIGINT');
    const stderr = `decant: interrupted; the object stays at '${server.origin}/s3/disk': the server had completed it\n`;
    expect(await ended).toMatchObject({ status: 130, stderr });
  },
);

test(
  'the command: what the server does not remove is said, with its place and the status',
  { tag: '@full' },
  async ({ folder }) => {
    await serveWith({
      fault: (_, { method }) => (method === 'PUT' ? 'status 403' : undefined),
      faultAtEnd: () => 'status 403',
    });
    const ended = await command(AWS, '--upload', 's3', qcow2Of(SMALL, folder), `${server.origin}/s3/disk`);
    expect(ended.status).toBe(1);
    expect(ended.stderr).toMatch(
      /^decant: Could not upload to '(.*)': the server answered 403 .*; the upload stays at '\1': it could not be removed \(the server answered 403 .*\)\n$/,
    );
  },
);

test('an object that cannot be queried: unconfirmed success, and a line of the command', async ({ folder }) => {
  const options = { answer: ({ method }: Asked) => (method === 'HEAD' ? { status: 403 } : undefined) };
  await serveWith(options);
  const result = await convert(SMALL, TARGETS.put.target());
  expect(result).toMatchObject({ confirmed: false, notices: [{ code: 'unconfirmed' }] });
  await serveWith(options);
  const ended = await command({}, qcow2Of(SMALL, folder), `${server.origin}/put/disk`);
  expect(ended).toMatchObject({
    status: 0,
    stderr:
      'decant: note: The server accepted the upload, but did not confirm that the object is complete: the server answered 403\n',
  });
  expect(objectOf(server)!.equals(SMALL)).toBe(true);
});

test('the command: a POST to an address that takes nothing else', async ({ folder }) => {
  const disk = join(folder, 'disk.raw');
  writeFileSync(disk, Buffer.alloc(1 << 20, 'disk'));
  const url = `${server.origin}/post/upload`;
  const convert = (...args: string[]) =>
    startProgram(process.execPath, [dist('cli'), 'convert', '-f', 'raw', '-O', 'raw', ...args, disk, url]).ended;
  expect(await convert('--method', 'POST')).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('a POST does not name the object to check'),
  });
  expect(server.objects.get('/post/upload')).toEqual(Buffer.alloc(1 << 20, 'disk'));
  expect(server.asked.map(({ method }) => method)).toEqual(['POST']);
  expect(await convert()).toMatchObject({ status: 1, stderr: expect.stringContaining('the server answered 404') });
});

test('an upload that the server answers by a page is not done', async ({ folder }) => {
  const page = { status: 200, headers: { 'Content-Type': 'text/html' }, body: '<html>Sign in</html>' };
  await serveWith({ answer: ({ method }) => (['PUT', 'HEAD'].includes(method) ? page : undefined) });
  const ended = await command({}, qcow2Of(SMALL, folder), `${server.origin}/put/disk`);
  expect(ended.stderr).toMatch(
    /the object on the server is not the one that was uploaded; the object may stay at '.*\(the response to HEAD was a web page\)\n$/,
  );
  expect(ended.status).toBe(1);
});
