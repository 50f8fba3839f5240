// Servers of images that answer in ways that are easily taken for something else: right bytes or one clear error.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { cli, program, run, startProgram } from '../support/command.js';
import { failure } from '../support/failure.js';
import { expectSame, small } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { type RemoteFile, serveFile } from '../support/remote.js';
import type { Fault } from '../support/replies.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;

const QUICK = { timeout: 0.5, patience: 5 };
const MIB = 1 << 20;

let remote: RemoteFile | undefined;
test.afterEach(async () => {
  await remote?.close();
  remote = undefined;
});
test.afterAll(() => decant.dispose());

/** What becomes of `input`; what fails, as a person sees it. */
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

/** The range that is asked for, of a file of `size` bytes. */
function rangeOf({ headers }: IncomingMessage, size: number): [number, number] {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '')!;
  return [Number(first), Math.min(Number(last) + 1, size)];
}

/** Serves an 8 MiB disk that is written in place while a range of it is sent. */
async function serveWhileWritten(): Promise<RemoteFile> {
  const [size, head] = [8 * MIB, 64 << 10];
  let now = { bytes: Buffer.alloc(size, 1), etag: '"old"' };
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const [start, end] = rangeOf(request, size);
    const { etag } = now;
    const length = end - start;
    response.writeHead(206, {
      ETag: etag,
      'Content-Range': `bytes ${start}-${end - 1}/${size}`,
      'Content-Length': length,
    });
    const half = start + (length >> 1);
    response.write(now.bytes.subarray(start, half));
    const rest = () => {
      if (start >= head) now = { bytes: Buffer.alloc(size, 2), etag: '"new"' };
      response.end(now.bytes.subarray(half, end));
    };
    setTimeout(rest, 100);
    return true;
  };
  return serveFile(now.bytes, { answer });
}

const CHANGED = /^source: .*the file was changed (on the server )?while it was read/;

test('a file that is written to while the last answers come is not taken for one state', async ({ folder }) => {
  remote = await serveWhileWritten();
  const output = join(folder, 'out.raw');
  expect(await converted(decant.httpSource(remote.url, QUICK), output, { format: 'raw' })).toMatch(CHANGED);
  expect(existsSync(output)).toBe(false);
});

test('a stream of the disk fails where the file is written to while the last answer comes', async () => {
  remote = await serveWhileWritten();
  const image = await decant.open(await decant.httpSource(remote.url, QUICK), { format: 'raw' });
  expect(await failure(new Response(image.readable({ start: 7 * MIB })).arrayBuffer())).toMatch(CHANGED);
  await image.close();
});

/** A server that does not tell the size with a range, and answers to `method` by `answer`. */
const hidesSize = (file: Buffer, method: string, answer: (response: ServerResponse) => void): Promise<RemoteFile> =>
  serveFile(file, {
    answer: (request, response) => {
      if (request.method === method && request.headers.range === undefined) {
        answer(response);
        return true;
      }
      if (request.headers.range === undefined) return false;
      const [start, end] = rangeOf(request, file.length);
      const headers = { ETag: '"now"', 'Content-Range': `bytes ${start}-${end - 1}/*` };
      response.writeHead(206, headers).end(file.subarray(start, end));
      return true;
    },
  });

for (const [what, answer] of [
  ['says that it has nothing', (response) => response.writeHead(200, { 'Content-Length': '0' }).end()],
  ['is not answered, as pages see it', (response) => response.destroy()],
  ['is not allowed', (response) => response.writeHead(405).end()],
] as [string, (response: ServerResponse) => void][]) {
  test(`the size by HEAD, which ${what}: it is asked for otherwise`, async ({ folder }) => {
    remote = await hidesSize(readFileSync(small.zlib()), 'HEAD', answer);
    const output = join(folder, 'out.raw');
    expect(await converted(decant.httpSource(remote.url, QUICK), output)).toBe('nothing failed');
    expectSame(output, small.raw());
    expect(remote.asked.length).toBeLessThan(20);
  });
}

test('the size by a server that is busy for a moment', async ({ folder }) => {
  let asked = 0;
  const file = readFileSync(small.zlib());
  remote = await hidesSize(file, 'HEAD', (response) => {
    asked += 1;
    if (asked > 2) response.writeHead(200, { 'Content-Length': file.length }).end();
    else response.writeHead(503).end();
  });
  const output = join(folder, 'out.raw');
  expect(await converted(decant.httpSource(remote.url, QUICK), output)).toBe('nothing failed');
});

for (const coding of ['zstd', 'compress', 'x-other']) {
  test(`a whole file that comes encoded as ${coding} is no disk`, async ({ folder }) => {
    remote = await serveFile(Buffer.alloc(0), {
      answer: (_, response) => {
        response.writeHead(200, { 'Content-Encoding': coding }).end('what is no disk');
        return true;
      },
    });
    const output = join(folder, 'out.raw');
    expect(await converted(remote.url, output, { format: 'raw' })).toContain(`encoded as ${coding}`);
    expect(existsSync(output)).toBe(false);
  });
}

test('a whole file that is shorter than its length, by a fetch that does not notice', async ({ folder }) => {
  const fetch = async () => new Response(new Uint8Array(1000), { headers: { 'Content-Length': '5000' } });
  const source = decant.httpSource('http://localhost/disk', { ...QUICK, patience: 1, fetch: fetch as Decant.Fetch });
  expect(await converted(source, join(folder, 'out.raw'), { format: 'raw' })).toContain('the connection broke');
});

test('headers that never come, or not at once', async ({ folder }) => {
  remote = await serveFile(readFileSync(small.zlib()));
  const never = () => new Promise<never>(() => {});
  const output = join(folder, 'out.raw');
  const source = decant.httpSource(remote.url, { timeout: 0.2, patience: 1, headers: never });
  expect(await converted(source, output)).toContain('no byte came for 0.2 seconds');
  const cancelled = decant.httpSource(remote.url, { headers: never, signal: AbortSignal.timeout(200) });
  expect(await converted(cancelled, output)).toContain('cancelled');
  let asked = 0;
  const headers = async () => {
    asked += 1;
    if (asked % 3 === 0) throw new TypeError('fetch failed');
    return { 'X-Token': 'fresh' };
  };
  expect(await converted(decant.httpSource(remote.url, { ...QUICK, headers }), output)).toBe('nothing failed');
  expectSame(output, small.raw());
});

test('tokens that expire: a fresh one for each request, or an error', async ({ folder }) => {
  const LIFE = 300;
  const age = () => Math.floor(Date.now() / LIFE);
  const tokenOf = (age: number) => `Bearer ${age}`;
  remote = await serveFile(readFileSync(small.zlib()), {
    answer: ({ headers }, response) => {
      const isGood = [age(), age() - 1].map(tokenOf).includes(headers.authorization ?? '');
      if (!isGood) response.writeHead(401).end();
      return !isGood;
    },
  });
  const now = () => ({ Authorization: tokenOf(age()) });
  const sources = [
    [await decant.httpSource(remote.url, { ...QUICK, headers: now }), 'fresh.raw', 'nothing failed'],
    [await decant.httpSource(remote.url, { ...QUICK, headers: now() }), 'fixed.raw', 'it asks for a user or a token'],
  ] as const;
  await new Promise((done) => setTimeout(done, 3 * LIFE));
  for (const [source, name, told] of sources) {
    expect(await converted(source, join(folder, name))).toContain(told);
  }
  expectSame(join(folder, 'fresh.raw'), small.raw());
  expect(existsSync(join(folder, 'fixed.raw'))).toBe(false);
});

test('a server that asks to come back at once is not overrun', async () => {
  remote = await serveFile(Buffer.alloc(MIB), { fault: () => '429, until' });
  await expect(decant.httpSource(remote.url, { patience: 2 })).rejects.toMatchObject({ kind: 'source' });
  expect(remote.asked.length).toBeLessThan(10);
});

test('a server that is busy and then breaks a connection is there', async ({ folder }) => {
  const faults: Fault[] = ['status 503', 'status 503', 'drop', 'drop'];
  remote = await serveFile(readFileSync(small.zlib()), { fault: (number) => faults[number] });
  const output = join(folder, 'out.raw');
  expect(await converted(decant.httpSource(remote.url, { ...QUICK, patience: 20 }), output)).toBe('nothing failed');
});

for (const [name, value] of [
  ['timeout', Number.NaN],
  ['timeout', -1],
  ['patience', Number.NaN],
] as const) {
  test(`no time: ${name} ${value}`, async () => {
    const work = decant.httpSource('http://localhost/', { [name]: value });
    await expect(work).rejects.toMatchObject({ kind: 'usage', message: expect.stringContaining(name) });
  });
}

test('as long as one likes', async ({ folder }) => {
  remote = await serveFile(readFileSync(small.zlib()));
  const endless = { timeout: Number.POSITIVE_INFINITY, patience: Number.POSITIVE_INFINITY };
  expect(await converted(decant.httpSource(remote.url, endless), join(folder, 'out.raw'))).toBe('nothing failed');
});

for (const status of [404, 400, 503]) {
  test(`an address that leads to another mirror each time is read from one of them, until that says ${status}`, async ({
    folder,
  }) => {
    const file = readFileSync(small.zlib());
    const served = { first: 0, second: 0 };
    const mirror = (name: 'first' | 'second', most: number) => (request: IncomingMessage, response: ServerResponse) => {
      served[name] += 1;
      const [start, end] = rangeOf(request, file.length);
      const headers = { ETag: '"same"', 'Content-Range': `bytes ${start}-${end - 1}/${file.length}` };
      if (served[name] > most) response.writeHead(status).end();
      else response.writeHead(206, headers).end(file.subarray(start, end));
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
    expect(await converted(decant.httpSource(remote.url, QUICK), output)).toBe('nothing failed');
    expectSame(output, small.raw());
    expect(served.second).toBeGreaterThan(2);
    expect(redirects).toBeLessThan(served.first + served.second);
    for (const mirror of mirrors) await mirror.close();
  });
}

test('one server is asked for little at once, however many images it has', async ({ folder }) => {
  const file = Buffer.alloc(24 * MIB, 7);
  let [underWay, most] = [0, 0];
  remote = await serveFile(file, {
    answer: (request, response) => {
      underWay += 1;
      most = Math.max(most, underWay);
      const [start, end] = rangeOf(request, file.length);
      const headers = { ETag: '"same"', 'Content-Range': `bytes ${start}-${end - 1}/${file.length}` };
      const answer = () => {
        underWay -= 1;
        response.writeHead(206, headers).end(file.subarray(start, end));
      };
      setTimeout(answer, 50);
      return true;
    },
  });
  const convert = (name: string) => converted(remote!.url, join(folder, name), { format: 'raw' });
  expect(await Promise.all(['a', 'b', 'c', 'd'].map(convert))).toEqual(Array(4).fill('nothing failed'));
  expect(readFileSync(join(folder, 'd')).equals(file)).toBe(true);
  expect(most).toBeLessThanOrEqual(6);
  expect(most).toBeGreaterThan(3);
});

test('an image is opened while others of the same server are read', async ({ folder }) => {
  const file = Buffer.alloc(160 * MIB, 7);
  let served = 0;
  remote = await serveFile(file, {
    answer: (request, response) => {
      const [start, end] = rangeOf(request, file.length);
      const headers = { ETag: '"same"', 'Content-Range': `bytes ${start}-${end - 1}/${file.length}` };
      served += 1;
      setTimeout(() => response.writeHead(206, headers).end(file.subarray(start, end)), 50);
      return true;
    },
  });
  const work = ['a', 'b'].map((name) => converted(remote!.url, join(folder, name), { format: 'raw' }));
  await expect.poll(() => served, { intervals: [5] }).toBeGreaterThan(16);
  const image = await decant.open(remote.url, { format: 'raw' });
  // Both images together take 80 requests.
  expect(served).toBeLessThan(60);
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
  const header = allOf(decant.httpSource(remote.url, { ...QUICK, headers: { 'X-Token': 'top\nsecret' } }));
  expect(await header).toMatch(/^The header 'X-Token' has a character that no header may have/);
  const redirect = await allOf(decant.httpSource(`${remote.url}?sig=secret`, QUICK));
  expect(redirect).toContain('the server redirects to what is no address');
  for (const told of [await header, redirect]) expect(told).not.toContain('secret');
});

for (const args of [
  ['https://localhost/disk?sig=secret', 'out.raw'],
  ['info', 'disk', 'https://localhost/disk?sig=secret'],
  ['info', '--header-file', 'https://localhost/?sig=secret', 'https://localhost/'],
]) {
  test(`the command does not repeat what is secret: ${args.slice(0, 2).join(' ')}`, () => {
    const { status, stdout, stderr } = run(process.execPath, [cli, ...args]);
    expect(status).not.toBe(0);
    expect(stderr).toContain('https://localhost/');
    expect(stdout + stderr).not.toContain('secret');
  });
}

test('a server of whole files, asked with headers: a large disk is read once', async ({ folder }) => {
  const disk = Buffer.alloc(80 * MIB, Buffer.from(Array.from({ length: 251 }, (_, at) => at)));
  remote = await serveFile(disk, {
    answer: ({ headers }, response) => {
      if (headers['x-token'] === 'secret') response.writeHead(200, { 'Content-Length': disk.length }).end(disk);
      else response.writeHead(401).end();
      return true;
    },
  });
  const [output, headers] = [join(folder, 'out.raw'), join(folder, 'headers')];
  writeFileSync(headers, 'X-Token: secret\n');
  const args = [cli, 'convert', '--header-file', headers, '-f', 'raw', remote.url, output];
  expect(await startProgram(process.execPath, args).ended).toMatchObject({ status: 0, stderr: '' });
  expect(readFileSync(output).equals(disk)).toBe(true);
  expect(remote.asked).toHaveLength(1);
});

test('the command does not write an image over itself', async () => {
  remote = await serveFile(readFileSync(small.zlib()));
  const args = [cli, 'convert', remote.url, `${remote.url}?X-Amz-Signature=other`];
  const { status, stderr } = await startProgram(process.execPath, args).ended;
  expect(stderr).toMatch(/^decant: Could not upload to '\S+': it is the image itself$/m);
  expect(status).not.toBe(0);
  expect(remote.asked.filter(({ method }) => method === 'PUT')).toEqual([]);
});

test('a time-out that nobody else holds ends a conversion', () => {
  const kind = program<string>(
    `const { setFlagsFromString } = await import('node:v8');
     const { runInNewContext } = await import('node:vm');
     setFlagsFromString('--expose_gc');
     const collecting = setInterval(runInNewContext('gc'), 50);
     const image = await decant.open(new Uint8Array(1 << 20), { format: 'raw' });
     const target = { write: () => new Promise(() => {}), hole: () => new Promise(() => {}), async close() {}, async abort() {} };
     const late = setTimeout(() => process.exit(3), 10_000);
     await image.convert(target, { signal: AbortSignal.timeout(500) }).catch(({ kind }) => console.log(JSON.stringify(kind)));
     clearTimeout(late);
     clearInterval(collecting);
     await image.close();
     await decant.dispose();`,
  );
  expect(kind).toBe('cancelled');
});
