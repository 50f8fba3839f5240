// Images on servers, from Node: right bytes or one clear error for all faults of servers.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { closing } from '../support/closing.js';
import { startProgram } from '../support/command.js';
import { failure } from '../support/failure.js';
import { expectSame, images, sparse } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { random } from '../support/random.js';
import { type RemoteFile, serveFile } from '../support/remote.js';
import { FAULTS, type Fault, PASSING, rangeOf } from '../support/replies.js';
import { byScope } from '../support/scope.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;

const MIB = 1 << 20;
/** Short time-outs for silent servers. The number of attempts does not depend on the machine. */
const SHORT = { timeout: 1 };

const disk = sparse(64 * MIB);
const file = readFileSync(disk.image);

let remote: RemoteFile | undefined;
test.afterEach(async () => {
  await remote?.close();
  remote = undefined;
});
test.afterAll(() => decant.dispose());

const convert = async (
  input: Decant.Input,
  output: string,
  options?: Decant.OpenOptions,
): Promise<Decant.ConvertResult> => closing(await decant.open(input, options), (image) => image.convert(output));

test('an address is an image: as text, as a URL, as a source', async ({ folder }) => {
  remote = await serveFile(file);
  const { url } = remote;
  for (const input of [url, new URL(url), await decant.httpSource(url)]) {
    const output = join(folder, 'out.raw');
    const result = await convert(input, output);
    expectSame(output, disk.raw);
    expect(result.sourceVerified).toBe(true);
  }
  const image = await decant.open(`${url}?token=secret`);
  expect(image.info.name).toBe('disk.qcow2');
  expect(image.info.safety).toEqual([]);
  await image.close();
});

test('no byte outside of what the disk needs is fetched', async ({ folder }) => {
  remote = await serveFile(Buffer.concat([file, Buffer.alloc(64 << 20)]));
  const output = join(folder, 'out.raw');
  await convert(remote.url, output);
  expectSame(output, disk.raw);
  const lengths = remote.asked.map((asked) => rangeOf(asked)!).map(({ start, end }) => end - start);
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBeLessThan(file.length * 1.1);
});

test('a chain whose backing file is an address, too', async ({ folder }) => {
  const { top, below, raw } = images.chain();
  const [middle, base] = below as [string, string];
  remote = await serveFile(readFileSync(base));
  const output = join(folder, 'out.raw');
  await convert(top, output, {
    companions: [middle, { name: base.split('/').at(-1)!, source: remote.url }],
  });
  expectSame(output, raw);
});

test('a small file, and an empty one', async ({ folder }) => {
  for (const bytes of [0, 66_048, ...byScope({ short: [], full: [512, 65_536] })].map((size) =>
    Buffer.alloc(size, size >> 9),
  )) {
    remote = await serveFile(bytes);
    const output = join(folder, 'out.raw');
    await convert(remote.url, output, { inputFormat: 'raw' });
    expect(readFileSync(output).equals(bytes)).toBe(true);
    await remote.close();
  }
});

test('user and password of an address travel as a header, headers of a function with each request', async () => {
  remote = await serveFile(file);
  const { asked, url } = remote;
  const address = url.replace('http://', 'http://me:p%C3%A4ss@');
  await decant.httpSource(address);
  expect(asked.at(-1)?.headers.authorization).toBe(`Basic ${Buffer.from('me:päss').toString('base64')}`);
  let calls = 0;
  const source = await decant.httpSource(url, { headers: async () => ({ 'X-Token': String(++calls) }) });
  await source.read(100_000, 10, { signal: new AbortController().signal });
  expect(asked.slice(-2).map(({ headers }) => headers['x-token'])).toEqual(['1', '2']);
});

test('headers go to no other origin', async ({ folder }) => {
  const elsewhere = await serveFile(file);
  remote = await serveFile(Buffer.alloc(0), {
    answer: (_, response) => {
      response.writeHead(307, { Location: elsewhere.url.replace('127.0.0.1', 'localhost') }).end();
      return true;
    },
  });
  const headers = { Authorization: 'Bearer secret', 'X-Token': 'secret' };
  const output = join(folder, 'out.raw');
  await convert(await decant.httpSource(remote.url, { headers }), output);
  expectSame(output, disk.raw);
  expect(remote.asked.every(({ headers }) => headers['x-token'] === 'secret')).toBe(true);
  expect(elsewhere.asked.length).toBeGreaterThan(1);
  for (const { headers } of elsewhere.asked) expect(JSON.stringify(headers)).not.toContain('secret');
  await elsewhere.close();
});

const OPENING: Record<string, RegExp> = {
  'another range': /the server sent bytes 1 to 65536 instead of bytes 0 to 65535/,
  'no range': /does not state which part of the file it sends/,
  more: /sent more bytes than requested/,
  'several parts': /the server sent several parts/,
  'status 404': /the server answered 404 Not Found; there is no such file/,
  'status 403': /the server answered 403 Forbidden; it does not allow this, or the address has expired/,
  'redirect to nowhere': /leads to an address of ftp:/,
};
for (const [fault, sentence] of Object.entries(OPENING)) {
  test(`the first answer: ${fault}`, fault === 'status 404' ? {} : FULL, async () => {
    remote = await serveFile(file, { fault: () => fault as Fault });
    const told = await failure(decant.open(`${remote.url}?token=secret`));
    expect(told).toMatch(sentence);
    expect(told).toMatch(/^source: Could not open 'http:\/\/127\.0\.0\.1:\d+\/images\/disk\.qcow2': /);
    expect(remote.asked).toHaveLength(1);
  });
}

test('an unknown encoding is refused', FULL, async () => {
  remote = await serveFile(file, { fault: () => 'encoded' });
  for (const options of [{}, { fetch }]) {
    expect(await failure(decant.open(remote.url, options))).toMatch(/sends the file encoded as x-other/);
  }
});

test('an unreachable server', async () => {
  const gone = await serveFile(Buffer.alloc(0));
  await gone.close();
  // Otherwise there would be three attempts.
  const told = await failure(decant.httpSource(`${gone.url}?token=secret`, { patience: 0 }));
  expect(told).toMatch(
    /^source: Could not open '[^?]*': no answer came from http:\/\/127\.0\.0\.1:\d+ \(.*ECONNREFUSED/,
  );
});

for (const given of ['http://', 'https://:1', 'http://[x']) {
  test(`no address: ${given}`, given === 'http://' ? {} : FULL, async () => {
    const told = await failure(decant.open(given));
    expect(told).toBe('usage: The address must be an http or https URL');
  });
}

/** One of each kind: no answer, less than an answer, silence, another server, another state of the file, another answer. */
const SMOKES: Fault[] = ['drop', 'cut', 'redirect elsewhere', 'another ETag', 'whole'];

for (const fault of Object.keys(FAULTS) as Fault[]) {
  const passes = PASSING.includes(fault);
  test(
    `in between, ${fault}: ${passes ? 'right bytes' : 'an error'}`,
    SMOKES.includes(fault) ? {} : FULL,
    async ({ folder }) => {
      // The very first request has another test. The number of later ones depends on their speed.
      const hasFault = (number: number) => number === 2 || number === 4;
      remote = await serveFile(file, {
        fault: (number) => (hasFault(number) ? fault : undefined),
      });
      const output = join(folder, 'out.raw');
      const source = await decant.httpSource(remote.url, SHORT);
      const work = convert(source, output);
      if (passes) {
        await work;
        expectSame(output, disk.raw);
        expect(source.network!.received).toBeGreaterThan(remote.asked.length);
      } else {
        expect(await failure(work)).toMatch(/^source: Could not read the image: the (server('s)?|servers|file) /);
        expect(existsSync(output)).toBe(false);
      }
    },
  );
}

/** Serves `bytes` without support for ranges. */
const serveWhole = (bytes: Buffer, { hasLength = true, breaksAt = bytes.length } = {}): Promise<RemoteFile> =>
  serveFile(bytes, {
    answer: (_, response) => {
      response.writeHead(200, hasLength ? { 'Content-Length': bytes.length } : {});
      if (breaksAt === bytes.length) response.end(bytes);
      else response.write(bytes.subarray(0, breaksAt), () => response.destroy());
      return true;
    },
  });

/** A raw disk larger than the buffer in memory, 64 MiB. */
const largeDisk = (): Buffer => Buffer.alloc(66 * MIB, Buffer.from(Array.from({ length: 251 }, (_, at) => at)));

for (const hasLength of [true, false]) {
  test(
    `a server of whole files, ${hasLength ? 'with' : 'without'} a length: a small one`,
    hasLength ? {} : FULL,
    async ({ folder }) => {
      remote = await serveWhole(file, { hasLength });
      const output = join(folder, 'out.raw');
      for (const input of [remote.url, await decant.httpSource(remote.url)]) {
        const result = await convert(input, output);
        expectSame(output, disk.raw);
        expect(result.sourceVerified).toBe(hasLength);
      }
      expect(remote.asked).toHaveLength(2);
    },
  );

  test(
    `a server of whole files, ${hasLength ? 'with' : 'without'} a length: a large one`,
    hasLength ? {} : FULL,
    async ({ folder }) => {
      const disk = largeDisk();
      remote = await serveWhole(disk, { hasLength });
      const output = join(folder, 'out.raw');
      if (hasLength) {
        await convert(await decant.httpSource(remote.url), output, { inputFormat: 'raw' });
        expect(Buffer.compare(readFileSync(output), disk)).toBe(0);
        remote.asked.length = 0;
      }
      let network: Decant.Progress['network'];
      const image = await decant.open(remote.url, { inputFormat: 'raw' });
      expect(image.info.name).toBe('disk.qcow2');
      const result = await image.convert(output, { onProgress: (progress) => (network = progress.network) });
      await image.close();
      expect(Buffer.compare(readFileSync(output), disk)).toBe(0);
      expect(result.sourceVerified).toBe(hasLength);
      expect(network?.received).toBe(disk.length);
      expect(remote.asked).toHaveLength(1);
    },
  );
}

test('a server of whole files: what cannot be read in order, or not from an address', async () => {
  const large = Buffer.concat([file, Buffer.alloc(70 << 20)]);
  remote = await serveWhole(large);
  expect(await failure(decant.open(remote.url))).toMatch(
    /^unsupported: Could not open 'http:\S+\/disk\.qcow2': its server sends only whole files, from start to end\. .*save it as a file first$/,
  );
  const source = await decant.httpSource(remote.url);
  expect(await failure(decant.open(source))).toMatch(/^unsupported: .*its server sends only whole files/);
  await remote.close();
  remote = await serveWhole(large, { hasLength: false });
  expect(await failure(decant.httpSource(remote.url))).toMatch(
    /^unsupported: Could not open 'http:\S+\/disk\.qcow2': its server sends only whole files, and this one is large and of/,
  );
});

test('a server of whole files that breaks off', async ({ folder }) => {
  remote = await serveWhole(largeDisk(), { breaksAt: 65 * MIB });
  const output = join(folder, 'out.raw');
  const told = await failure(convert(remote.url, output, { inputFormat: 'raw' }));
  expect(told).toBe(
    'source: Could not read the image: the connection broke; the server sends only whole files, so reading cannot continue from there',
  );
  expect(existsSync(output)).toBe(false);
  // A small one is requested again.
  await remote.close();
  let asked = 0;
  remote = await serveFile(file, {
    answer: (_, response) => {
      asked += 1;
      response.writeHead(200, { 'Content-Length': file.length });
      if (asked > 1) response.end(file);
      else response.write(file.subarray(0, 1000), () => response.destroy());
      return true;
    },
  });
  await convert(remote.url, output);
  expectSame(output, disk.raw);
});

test('a cancel while the server is silent', async ({ folder }) => {
  let isSilent = false;
  remote = await serveFile(file, { fault: () => (isSilent ? 'silent' : undefined) });
  const { url, asked } = remote;
  // Only the cancel ends it.
  const source = await decant.httpSource(url, { timeout: Number.POSITIVE_INFINITY });
  const image = await decant.open(source);
  const output = join(folder, 'out.raw');
  isSilent = true;
  for (const [start, told] of [
    [(signal: AbortSignal) => image.convert(output, { signal }), 'cancelled: The conversion was cancelled'],
    [(signal: AbortSignal) => decant.open(url, { signal }), 'cancelled: Opening the image was cancelled'],
  ] as const) {
    const cancel = new AbortController();
    const before = asked.length;
    const ended = failure(start(cancel.signal));
    await expect.poll(() => asked.length).toBeGreaterThan(before);
    cancel.abort();
    expect(await ended).toBe(told);
  }
  await image.close();
  expect(existsSync(output)).toBe(false);
});

test('patience ends', async ({ folder }) => {
  remote = await serveFile(file, { fault: (number) => (number > 2 ? 'status 503' : undefined) });
  const output = join(folder, 'out.raw');
  const source = await decant.httpSource(remote.url, { patience: 0.1 });
  expect(await failure(convert(source, output))).toBe(
    'source: Could not read the image: the server answered 503 Service Unavailable',
  );
});

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const command = (...args: string[]) => startProgram(process.execPath, [cli, ...args]).ended;

test('the command: an address, headers in a file, no secret in what it prints', async ({ folder }) => {
  remote = await serveFile(file);
  const [headers, output] = [join(folder, 'headers'), join(folder, 'out.raw')];
  writeFileSync(headers, '# for the server\nAuthorization: Bearer secret\n\nX-Token:secret\n');
  const address = `${remote.url.replace('http://', 'http://me:secret@')}?secret`;
  expect(await command('convert', '--header-file', headers, address, output)).toMatchObject({ status: 0, stderr: '' });
  expectSame(output, disk.raw);
  for (const { headers } of remote.asked) {
    expect(headers).toMatchObject({ authorization: 'Bearer secret', 'x-token': 'secret' });
  }
  const info = await command('info', address);
  expect(info.status).toBe(0);
  expect(info.stdout).toContain(remote.url);
  expect(info.stdout).not.toContain('secret');
});

test('the command: headers go to the server of the first address only', async ({ folder }) => {
  const { top, below } = images.chain();
  const [middle, base] = below as [string, string];
  const headers = join(folder, 'headers');
  writeFileSync(headers, 'X-Token: secret\n');
  remote = await serveFile(readFileSync(top));
  const elsewhere = await serveFile(readFileSync(base));
  const withBase = ['--with', middle, '--with', `${base.split('/').at(-1)}=${elsewhere.url}?a=b`];
  const ended = await command('info', '--header-file', headers, ...withBase, remote.url);
  expect(ended).toMatchObject({ status: 0, stderr: '' });
  expect(remote.asked.every(({ headers }) => headers['x-token'] === 'secret')).toBe(true);
  expect(elsewhere.asked.length).toBeGreaterThan(0);
  expect(elsewhere.asked.some(({ headers }) => 'x-token' in headers)).toBe(false);
  await elsewhere.close();
});

/** A proxy as companies have it: for requests, and for tunnels to servers. */
async function startProxy(): Promise<{ url: string; seen: string[]; close(): void }> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url!);
    const { method, headers } = request;
    const onwards = httpRequest(request.url!, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    onwards.on('error', () => response.destroy());
    request.pipe(onwards);
  });
  server.on('connect', ({ url }, socket) => {
    seen.push(`CONNECT ${url}`);
    const [host, port] = url!.split(':') as [string, string];
    const onwards = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onwards.pipe(socket).pipe(onwards);
    });
    for (const end of [onwards, socket]) end.on('error', () => onwards.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, seen, close };
}

test('the command: through the proxies that the environment names', FULL, async ({ folder }) => {
  remote = await serveFile(file);
  let uploaded = 0;
  const uploads = await serveFile(Buffer.alloc(0), {
    answer: (request, response) => {
      if (request.method === 'HEAD') response.writeHead(200, { 'Content-Length': uploaded }).end();
      if (request.method !== 'PUT') return request.method === 'HEAD';
      uploaded = 0;
      request.on('data', (data: Buffer) => {
        uploaded += data.length;
      });
      request.on('end', () => response.writeHead(201).end());
      return true;
    },
  });
  const proxy = await startProxy();
  const output = join(folder, 'out.raw');
  const run = async (env: Record<string, string>, output: string) => {
    proxy.seen.length = 0;
    const ended = await startProgram(process.execPath, [cli, 'convert', remote!.url, output], env).ended;
    expect(ended).toMatchObject({ status: 0, stderr: '' });
    // Unencrypted requests need no tunnel, and many proxies refuse one.
    expect(proxy.seen.filter((line) => line.startsWith('CONNECT'))).toEqual([]);
    return proxy.seen.length > 0;
  };
  expect(await run({ http_proxy: proxy.url }, output)).toBe(true);
  expectSame(output, disk.raw);
  expect(await run({ HTTP_PROXY: proxy.url, NO_PROXY: '127.0.0.1' }, output)).toBe(false);
  const object = uploads.url.replace('.qcow2', '.raw');
  expect(await run({ HTTP_PROXY: proxy.url, NO_PROXY: new URL(remote.url).host }, object)).toBe(true);
  proxy.close();
  await uploads.close();
});

for (const [what, args, sentence] of [
  [
    'an output on a server that is not there',
    ['convert', '--', '{image}', 'http://127.0.0.1:1/x?secret'],
    /^decant: Could not upload to 'http:\/\/127\.0\.0\.1:1\/x': no answer came from/,
  ],
  [
    'a line that is no header',
    ['info', '--header-file', '{lines}', 'http://localhost'],
    /^decant: Line 2 of '[^']*' is not NAME: VALUE$/,
  ],
  [
    'no file of headers',
    ['info', '--header-file', '{gone}', 'http://localhost'],
    /^decant: Could not read the headers from '[^']*': there is no such file/,
  ],
] as const) {
  test(`the command: ${what}`, async ({ folder }) => {
    const lines = join(folder, 'lines');
    writeFileSync(lines, 'A: b\nsecret\n');
    const files: Record<string, string> = { '{image}': disk.image, '{lines}': lines, '{gone}': join(folder, 'gone') };
    const ended = await command(...args.map((argument) => files[argument] ?? argument));
    expect(ended.stderr.trim()).toMatch(sentence);
    expect(ended.status).not.toBe(0);
  });
}

const SEEDS = byScope({ short: 50, long: 1000 });

test(`a server that fails at random, ${SEEDS} seeds`, FULL, async ({ folder }) => {
  test.setTimeout(3_600_000);
  const kinds = Object.keys(FAULTS) as Fault[];
  const ends = { right: 0, failed: 0 };
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const next = random(seed * 7919);
    // Half of the servers have only temporary faults.
    const choice = seed % 2 === 0 ? PASSING : kinds;
    const share = next() * 0.3;
    const fault = () => (next() < share ? choice[Math.floor(next() * choice.length)] : undefined);
    const server = await serveFile(file, { fault });
    const output = join(folder, `${seed}.raw`);
    const told = await failure(decant.httpSource(server.url, SHORT).then((source) => convert(source, output)));
    await server.close();
    const isRight = existsSync(output);
    if (isRight) expectSame(output, disk.raw);
    else expect(told, `seed ${seed}`).toMatch(/^source: Could not (open|read) /);
    if (choice === PASSING) expect(told, `seed ${seed}`).toBe('nothing failed');
    ends[isRight ? 'right' : 'failed'] += 1;
  }
  expect(ends.right).toBeGreaterThan(SEEDS / 2);
  expect(ends.failed).toBeGreaterThan(0);
});
