// Servers of images with misleading responses: right bytes or one clear error.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { cli, program, run, startProgram } from '../support/command.js';
import { failure } from '../support/failure.js';
import { expectSame, qemuImg, sparse } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { type RemoteFile, serveFile } from '../support/remote.js';
import { type Fault, rangeOf } from '../support/replies.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;

const MIB = 1 << 20;
const disk = sparse(64 * MIB);
const file = readFileSync(disk.image);

let remote: RemoteFile | undefined;
test.afterEach(async () => {
  await remote?.close();
  remote = undefined;
});
test.afterAll(() => decant.dispose());

/** The result for `input`, or the error as a user sees it. */
async function converted(
  input: Decant.Input | Promise<Decant.Source>,
  output: string,
  options?: Decant.OpenOptions,
): Promise<string> {
  const work = async () => {
    const image = await decant.open(await input, options);
    try {
      await image.convert(output);
    } finally {
      await image.close();
    }
  };
  return failure(work());
}

/** The part of a file of `size` bytes that is asked for, and how it is answered as that of the state `etag`. */
function partOf({ headers }: IncomingMessage, size: number, etag = '"now"') {
  const { start, end } = rangeOf({ range: headers.range }, size)!;
  const head = { ETag: etag, 'Content-Range': `bytes ${start}-${end - 1}/${size}`, 'Content-Length': end - start };
  return { start, end, head };
}

/** The start of a disk, which is read when it is opened, and not again by its conversion. */
const OPENED = 512 << 10;

/**
 * Serves an 8 MiB disk that is written in place while its last `length` bytes are sent: each answer is held in its middle
 * until all of these bytes are on their way.
 */
async function serveWhileWritten(length: number): Promise<RemoteFile> {
  const size = 8 * MIB;
  let now = { bytes: Buffer.alloc(size, 1), etag: '"old"' };
  let begun = 0;
  const held: (() => void)[] = [];
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const { start, end, head } = partOf(request, size, now.etag);
    response.writeHead(206, head);
    const half = start + ((end - start) >> 1);
    response.write(now.bytes.subarray(start, half));
    // The requests that open the disk, of its start and its end, and that check its state at the end.
    const isHead = end <= OPENED || start >= size - 512;
    held.push(() => {
      if (!isHead) now = { bytes: Buffer.alloc(size, 2), etag: '"new"' };
      response.end(now.bytes.subarray(half, end));
    });
    if (!isHead) begun += end - start;
    if (isHead || begun >= length) for (const go of held.splice(0)) go();
    return true;
  };
  return serveFile(now.bytes, { answer });
}

const CHANGED = /^source: .*the file (was changed|changed on the server) while it was read/;

test('a file that is written to while the last answers come is not taken for one state', async ({ folder }) => {
  remote = await serveWhileWritten(8 * MIB - OPENED);
  const output = join(folder, 'out.raw');
  expect(await converted(decant.httpSource(remote.url), output, { inputFormat: 'raw' })).toMatch(CHANGED);
  expect(existsSync(output)).toBe(false);
});

test('a stream of the disk fails where the file is written to while the last answer comes', async () => {
  remote = await serveWhileWritten(MIB);
  const image = (await decant.open(await decant.httpSource(remote.url), { inputFormat: 'raw' })) as Decant.DiskImage;
  expect(await failure(new Response(image.readable({ offset: 7 * MIB })).arrayBuffer())).toMatch(CHANGED);
  await image.close();
});

/** A server that states no size with a range, and answers `method` by `answer`. */
const hidesSize = (file: Buffer, method: string, answer: (response: ServerResponse) => void): Promise<RemoteFile> =>
  serveFile(file, {
    answer: (request, response) => {
      if (request.method === method && request.headers.range === undefined) {
        answer(response);
        return true;
      }
      if (request.headers.range === undefined) return false;
      const { start, end, head } = partOf(request, file.length);
      response.writeHead(206, { ...head, 'Content-Range': `bytes ${start}-${end - 1}/*` });
      response.end(file.subarray(start, end));
      return true;
    },
  });

for (const [what, answer] of [
  ['is not answered, as pages see it', (response) => response.destroy()],
  ['says that it has nothing', (response) => response.writeHead(200, { 'Content-Length': '0' }).end()],
  ['is not allowed', (response) => response.writeHead(405).end()],
] as [string, (response: ServerResponse) => void][]) {
  const smoke = what.startsWith('is not answered') ? {} : FULL;
  test(`the size by HEAD, which ${what}: it is asked for otherwise`, smoke, async ({ folder }) => {
    remote = await hidesSize(file, 'HEAD', answer);
    const output = join(folder, 'out.raw');
    expect(await converted(decant.httpSource(remote.url), output)).toBe('nothing failed');
    expectSame(output, disk.raw);
    expect(remote.asked.length).toBeLessThan(20);
  });
}

test('the size by a server that is busy for a moment', FULL, async ({ folder }) => {
  let asked = 0;
  remote = await hidesSize(file, 'HEAD', (response) => {
    asked += 1;
    if (asked > 2) response.writeHead(200, { 'Content-Length': file.length }).end();
    else response.writeHead(503).end();
  });
  const output = join(folder, 'out.raw');
  expect(await converted(decant.httpSource(remote.url), output)).toBe('nothing failed');
});

for (const coding of ['zstd', 'compress', 'x-other']) {
  test(`a whole file that comes encoded as ${coding} is no disk`, coding === 'zstd' ? {} : FULL, async ({ folder }) => {
    remote = await serveFile(Buffer.alloc(0), {
      answer: (_, response) => {
        response.writeHead(200, { 'Content-Encoding': coding }).end('what is no disk');
        return true;
      },
    });
    const output = join(folder, 'out.raw');
    expect(await converted(remote.url, output, { inputFormat: 'raw' })).toContain(`encoded as ${coding}`);
    expect(existsSync(output)).toBe(false);
  });
}

test('a whole file that is shorter than its length, by a fetch that does not notice', FULL, async ({ folder }) => {
  const fetch = async () => new Response(new Uint8Array(1000), { headers: { 'Content-Length': '5000' } });
  const source = decant.httpSource('http://localhost/disk', { patience: 0.1, fetch: fetch as Decant.Fetch });
  expect(await converted(source, join(folder, 'out.raw'), { inputFormat: 'raw' })).toContain('the connection broke');
});

test('headers that never come, or not at once', FULL, async ({ folder }) => {
  remote = await serveFile(file);
  const never = () => new Promise<never>(() => {});
  const output = join(folder, 'out.raw');
  const source = decant.httpSource(remote.url, { timeout: 0.2, patience: 1, headers: never });
  expect(await converted(source, output)).toContain('no byte came for 0.2 seconds');
  const cancel = new AbortController();
  const cancelled = decant.httpSource(remote.url, { headers: never, signal: cancel.signal });
  cancel.abort();
  expect(await converted(cancelled, output)).toContain('cancelled');
  let asked = 0;
  const headers = async () => {
    asked += 1;
    if (asked % 3 === 0) throw new TypeError('fetch failed');
    return { 'X-Token': 'fresh' };
  };
  expect(await converted(decant.httpSource(remote.url, { headers }), output)).toBe('nothing failed');
  expectSame(output, disk.raw);
});

test('tokens that expire: a fresh one for each request, or an error', async ({ folder }) => {
  let age = 0;
  const tokenOf = (age: number) => `Bearer ${age}`;
  remote = await serveFile(file, {
    answer: ({ headers }, response) => {
      const isGood = headers.authorization === tokenOf(age);
      if (!isGood) response.writeHead(401).end();
      return !isGood;
    },
  });
  const now = () => ({ Authorization: tokenOf(age) });
  const sources = [
    [await decant.httpSource(remote.url, { headers: now }), 'fresh.raw', 'nothing failed'],
    [await decant.httpSource(remote.url, { headers: now() }), 'fixed.raw', 'it requires a user or a token'],
  ] as const;
  age = 1;
  for (const [source, name, told] of sources) {
    expect(await converted(source, join(folder, name))).toContain(told);
  }
  expectSame(join(folder, 'fresh.raw'), disk.raw);
  expect(existsSync(join(folder, 'fixed.raw'))).toBe(false);
});

test('a server that asks to come back at once is not overrun', FULL, async () => {
  remote = await serveFile(Buffer.alloc(MIB), { fault: () => '429, until' });
  await expect(decant.httpSource(remote.url, { patience: 2 })).rejects.toMatchObject({ kind: 'source' });
  expect(remote.asked.length).toBeLessThan(10);
});

test('a server that is busy and then breaks a connection is there', FULL, async ({ folder }) => {
  const faults: Fault[] = ['status 503', 'status 503', 'drop', 'drop'];
  remote = await serveFile(file, { fault: (number) => faults[number] });
  const output = join(folder, 'out.raw');
  expect(await converted(decant.httpSource(remote.url), output)).toBe('nothing failed');
});

for (const [name, value] of [
  ['timeout', Number.NaN],
  ['timeout', -1],
  ['patience', Number.NaN],
] as const) {
  test(`no time: ${name} ${value}`, FULL, async () => {
    const work = decant.httpSource('http://localhost/', { [name]: value });
    await expect(work).rejects.toMatchObject({ kind: 'usage', message: expect.stringContaining(name) });
  });
}

test('a time-out of any length', FULL, async ({ folder }) => {
  remote = await serveFile(file);
  const endless = { timeout: Number.POSITIVE_INFINITY, patience: Number.POSITIVE_INFINITY };
  expect(await converted(decant.httpSource(remote.url, endless), join(folder, 'out.raw'))).toBe('nothing failed');
});

for (const status of [404, 400, 503]) {
  test(
    `an address that leads to another mirror each time is read from one of them, until that says ${status}`,
    status === 404 ? {} : FULL,
    async ({ folder }) => {
      const served = { first: 0, second: 0 };
      const mirror =
        (name: 'first' | 'second', most: number) => (request: IncomingMessage, response: ServerResponse) => {
          served[name] += 1;
          const { start, end, head } = partOf(request, file.length);
          if (served[name] > most) response.writeHead(status).end();
          else response.writeHead(206, head).end(file.subarray(start, end));
          return true;
        };
      const mirrors = [
        await serveFile(file, { answer: mirror('first', 2) }),
        await serveFile(file, { answer: mirror('second', 1000) }),
      ];
      let redirects = 0;
      remote = await serveFile(file, {
        answer: (_, response) => {
          response.writeHead(302, { Location: mirrors[Math.min(1, redirects)]!.url }).end();
          redirects += 1;
          return true;
        },
      });
      const output = join(folder, 'out.raw');
      expect(await converted(decant.httpSource(remote.url), output)).toBe('nothing failed');
      expectSame(output, disk.raw);
      expect(served.second).toBeGreaterThan(2);
      expect(redirects).toBeLessThan(served.first + served.second);
      for (const mirror of mirrors) await mirror.close();
    },
  );
}

test('one server is asked for little at once, however many images share a limit', FULL, async ({ folder }) => {
  const limit = new decant.RequestLimit();
  const file = Buffer.alloc(24 * MIB, 7);
  let [underWay, most] = [0, 0];
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const before = async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    // The number of held requests equals that of concurrent ones.
    if (most === 6) open();
    await opened;
    underWay -= 1;
  };
  remote = await serveFile(file, { before });
  const convert = (name: string) => converted(remote!.url, join(folder, name), { inputFormat: 'raw', limit });
  expect(await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(convert))).toEqual(Array(6).fill('nothing failed'));
  expect(readFileSync(join(folder, 'd')).equals(file)).toBe(true);
  expect(most).toBe(6);
});

test('an image is opened while others of the same server are read', FULL, async ({ folder }) => {
  const file = Buffer.alloc(160 * MIB, 7);
  let isHeld = true;
  const held: (() => void)[] = [];
  const before = ({ length }: { length: number }) =>
    isHeld && length > 16 ? new Promise<void>((go) => held.push(go)) : undefined;
  remote = await serveFile(file, { before: () => before(remote!.asked) });
  const work = ['a', 'b'].map((name) => converted(remote!.url, join(folder, name), { inputFormat: 'raw' }));
  await expect.poll(() => held.length).toBeGreaterThan(0);
  const opening = decant.open(remote.url, { inputFormat: 'raw' });
  isHeld = false;
  for (const go of held) go();
  const image = await opening;
  // Both images together take 80 requests.
  expect(remote.asked.length).toBeLessThan(60);
  await image.close();
  expect(await Promise.all(work)).toEqual(['nothing failed', 'nothing failed']);
});

test('no error has a secret, wherever it may stand', async () => {
  const everything = (error: unknown): string =>
    error instanceof Error ? `${error.message} ${error.stack} ${everything(error.cause)} ${JSON.stringify(error)}` : '';
  const allOf = (work: Promise<unknown>) => work.then(() => 'nothing failed', everything);
  remote = await serveFile(Buffer.alloc(MIB), {
    answer: (_, response) => {
      response.writeHead(302, { Location: 'http://[' }).end();
      return true;
    },
  });
  const header = allOf(decant.httpSource(remote.url, { headers: { 'X-Token': 'top\nsecret' } }));
  expect(await header).toMatch(/^The header 'X-Token' has an invalid character/);
  const redirect = await allOf(decant.httpSource(`${remote.url}?sig=secret`));
  expect(redirect).toContain("the server's Location header is not a valid address");
  for (const told of [await header, redirect]) expect(told).not.toContain('secret');
});

for (const args of [
  ['https://localhost/disk?sig=secret', 'out.raw'],
  ['info', 'disk', 'https://localhost/disk?sig=secret'],
  ['info', '--header-file', 'https://localhost/?sig=secret', 'https://localhost/'],
  ['info', 'ftp://me:secret@localhost/disk?sig=secret'],
  ['map', 'http:/localhost/disk?sig=secret'],
  ['info', '--with', 's3://localhost/disk?sig=secret', import.meta.filename],
  ['info', '--password-file', 'ftp://me:secret@localhost/?sig=secret', import.meta.filename],
  ['convert', '-f', 'raw', import.meta.filename, 'ftp://me:secret@localhost/disk?sig=secret'],
]) {
  const isShort = args.includes('--header-file') || args[0] === 'convert';
  test(`the command does not repeat what is secret: ${args.slice(0, 2).join(' ')}`, isShort ? {} : FULL, () => {
    const { status, stdout, stderr } = run(process.execPath, [cli, ...args]);
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/:\/+localhost\//);
    expect(stdout + stderr).not.toContain('secret');
  });
}

test('a server of whole files, asked with headers: a large disk is read once', async ({ folder }) => {
  const large = Buffer.alloc(66 * MIB, Buffer.from(Array.from({ length: 251 }, (_, at) => at)));
  remote = await serveFile(large, {
    answer: ({ headers }, response) => {
      if (headers['x-token'] === 'secret') response.writeHead(200, { 'Content-Length': large.length }).end(large);
      else response.writeHead(401).end();
      return true;
    },
  });
  const [output, headers] = [join(folder, 'out.raw'), join(folder, 'headers')];
  writeFileSync(headers, 'X-Token: secret\n');
  const args = [cli, 'convert', '--header-file', headers, '-f', 'raw', remote.url, output];
  expect(await startProgram(process.execPath, args).ended).toMatchObject({ status: 0, stderr: '' });
  expect(readFileSync(output).equals(large)).toBe(true);
  expect(remote.asked).toHaveLength(1);
});

test('the command does not write an image over itself', async () => {
  remote = await serveFile(file);
  const args = [cli, 'convert', '-O', 'raw', remote.url, `${remote.url}?X-Amz-Signature=other`];
  const { status, stderr } = await startProgram(process.execPath, args).ended;
  expect(stderr).toMatch(/^decant: Could not upload to '\S+': it is the image itself$/m);
  expect(status).not.toBe(0);
  expect(remote.asked.filter(({ method }) => method === 'PUT')).toEqual([]);
});

test('nor over a file that the image needs', async ({ folder }) => {
  remote = await serveFile(file);
  const image = join(folder, 'top.qcow2');
  qemuImg('create', '-q', '-f', 'qcow2', '-u', '-b', 'base.qcow2', '-F', 'qcow2', image, '64M');
  for (const upload of [[], ['--upload', 'tus']]) {
    const args = [cli, 'convert', ...upload, '--with', `base.qcow2=${remote.url}`, '-O', 'qcow2', image, remote.url];
    const { status, stderr } = await startProgram(process.execPath, args).ended;
    expect(stderr).toMatch(/^decant: Could not upload to '\S+': it is a file that the image needs$/m);
    expect(status).not.toBe(0);
  }
  expect(remote.asked.filter(({ method }) => method !== 'GET')).toEqual([]);
});

test('a time-out signal without other references ends a conversion', () => {
  const kind = program<string>(
    `const { setFlagsFromString } = await import('node:v8');
     const { runInNewContext } = await import('node:vm');
     setFlagsFromString('--expose_gc');
     const collecting = setInterval(runInNewContext('gc'), 20);
     const image = await decant.open(new Uint8Array(1 << 20), { inputFormat: 'raw' });
     const target = { write: () => new Promise(() => {}), hole: () => new Promise(() => {}), async close() {}, async abort() {} };
     const late = setTimeout(() => process.exit(3), 60_000);
     await image.convert(target, { signal: AbortSignal.timeout(200) }).catch(({ kind }) => console.log(JSON.stringify(kind)));
     clearTimeout(late);
     clearInterval(collecting);
     await image.close();
     await decant.dispose();`,
  );
  expect(kind).toBe('cancelled');
});
