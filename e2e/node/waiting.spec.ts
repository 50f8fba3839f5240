// What the command and the API do where servers and proxies answer nothing, or nothing of use.

import { readFileSync } from 'node:fs';
import { createServer as createHttp, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type * as Decant from '../../dist/node.js';
import { closing } from '../support/closing.js';
import { cli, startProgram } from '../support/command.js';
import { expectSame, images, sparse } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { type RemoteFile, send, serveFile } from '../support/remote.js';
import { replyOf } from '../support/replies.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;

const MIB = 1 << 20;
const disk = sparse(64 * MIB);
const file = readFileSync(disk.image);

const toClose: (() => unknown)[] = [];
test.afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});
test.afterAll(() => decant.dispose());

async function listen(server: Server | NetServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  toClose.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function serve(answer: RequestListener): Promise<string> {
  const server = createHttp(answer);
  toClose.push(() => server.closeAllConnections());
  return `${await listen(server)}/disk`;
}

async function serveRemote(...given: Parameters<typeof serveFile>): Promise<RemoteFile> {
  const remote = await serveFile(...given);
  toClose.push(() => remote.close());
  return remote;
}

/** A proxy that takes what it is asked, and answers nothing; and whether it was asked. */
async function silentProxy(): Promise<{ url: string; wasAsked: () => boolean }> {
  const sockets: Socket[] = [];
  let wasAsked = false;
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    socket.on('data', () => (wasAsked = true));
  });
  const url = await listen(server);
  toClose.push(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { url, wasAsked: () => wasAsked };
}

const command = (env: Record<string, string>, ...args: string[]) => startProgram(process.execPath, [cli, ...args], env);

const convert = async (
  input: Decant.Input,
  output: string,
  options?: Decant.OpenOptions,
): Promise<Decant.ConvertResult> => closing(await decant.open(input, options), (image) => image.convert(output));

test('Ctrl-C ends the command although a proxy never answers', async ({ folder }) => {
  const { url, wasAsked } = await silentProxy();
  // Quiet: a slow machine lets it wait for five seconds, and say so.
  const args = ['convert', '-q', 'https://127.0.0.1:8443/disk', join(folder, 'out')];
  const { child, ended } = command({ https_proxy: url }, ...args);
  await expect.poll(wasAsked).toBe(true);
  child.kill('SIGINT');
  expect(await ended).toEqual({ status: 130, stdout: '', stderr: 'decant: interrupted\n' });
});

test('a second Ctrl-C ends the command at once, whatever it cleans up', async () => {
  const asked: string[] = [];
  const url = await serve((request, response) => {
    asked.push(request.method!);
    // Nothing but the beginning of the upload is answered.
    if (asked.length === 1)
      response.end('<InitiateMultipartUploadResult><UploadId>id</UploadId></InitiateMultipartUploadResult>');
    else request.resume();
  });
  const keys = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret', AWS_REGION: 'eu-west-1' };
  const { child, ended } = command(keys, 'convert', '--upload', 's3', disk.image, `${url}/key`);
  await expect.poll(() => asked.length).toBeGreaterThan(1);
  child.kill('SIGINT');
  // It asks the server to forget the upload, and waits for the answer.
  await expect.poll(() => asked).toContain('DELETE');
  await expect
    .poll(() => {
      // The first ones may count as the same press.
      child.kill('SIGINT');
      return child.signalCode;
    })
    .toBe('SIGINT');
  expect(await ended).toMatchObject({
    status: null,
    stderr: expect.stringMatching(/^decant: interrupted again before the clean-up ended$/m),
  });
});

test('a proxy that refuses is named, with its status', async ({ folder }) => {
  const server = createHttp().on('connect', (_, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
  const url = await listen(server);
  const proxy = new URL(url).host;
  const args = ['convert', 'https://127.0.0.1:8443/disk', join(folder, 'out')];
  const refused = `decant: Could not open 'https://127.0.0.1:8443/disk': the proxy http://${proxy} answered 403 Forbidden; it does not allow this server\n`;
  expect(await command({ https_proxy: proxy }, ...args).ended).toEqual({ status: 1, stdout: '', stderr: refused });
});

test('a server that fails from the first request on is named while it is waited for', FULL, async () => {
  const url = await serve((_, response) => response.writeHead(502).end());
  const { host } = new URL(url);
  const { child, ended } = command({}, 'info', url);
  let told = '';
  child.stderr!.on('data', (text: string) => (told += text));
  await expect.poll(() => told).toMatch(/^decant: waiting for the server: 502, attempt \d+ \(127\.0\.0\.1:\d+\)\n$/);
  expect(told).toContain(host);
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ status: 130, stdout: '' });
});

test('a server that takes a request and is silent is named while it is waited for', FULL, async () => {
  const url = await serve(() => {});
  const { child, ended } = command({}, 'info', url);
  let told = '';
  child.stderr!.on('data', (text: string) => (told += text));
  const { host } = new URL(url);
  // The time-out, after 30 seconds, would end the wait with another line.
  await expect.poll(() => told).toBe(`decant: waiting for the server: no complete answer yet (${host})\n`);
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ status: 130, stdout: '' });
});

test('an unverifiable file is reported: a server that broke off without a length', async ({ folder }) => {
  const url = await serve((_, response) => {
    response.useChunkedEncodingByDefault = false;
    response.writeHead(200, { Connection: 'close' });
    response.end(Buffer.alloc(MIB, 'raw'));
  });
  const output = join(folder, 'out.raw');
  const ended = await command({}, 'convert', '-f', 'raw', url, output).ended;
  const { origin } = new URL(url);
  const stderr = `decant: note: ${origin} does not state the size of the file, so a truncated file may go unnoticed\n`;
  expect(ended).toEqual({ status: 0, stdout: '', stderr });
  expect(await convert(url, output, { inputFormat: 'raw' })).toMatchObject({
    sourceVerified: false,
    notices: [{ code: 'unverified', message: expect.stringContaining('may go unnoticed') }],
  });
});

test('an address that expires before the end fails nothing', async ({ folder }) => {
  const asked = new Set<string>();
  const remote = await serveRemote(file, {
    answer: ({ headers: { range = '' } }, response) => {
      // One byte is asked for again at the end.
      const hasExpired = range === 'bytes=0-0';
      asked.add(range);
      if (hasExpired) response.writeHead(403).end();
      return hasExpired;
    },
  });
  const output = join(folder, 'out.raw');
  const result = await convert(remote.url, output);
  expectSame(output, disk.raw);
  expect(asked).toContain('bytes=0-0');
  expect(result).toMatchObject({ sourceVerified: false, notices: [{ code: 'unverified' }] });
});

test('stored gzip that is labelled as an encoding is read as it is stored', async ({ folder }) => {
  const raw = readFileSync(disk.raw);
  const packed = gzipSync(raw, { level: 1 });
  const remote = await serveRemote(packed, { headers: { 'Content-Encoding': 'gzip' } });
  const whole = await serve((_, response) =>
    response.writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Length': packed.length }).end(packed),
  );
  const output = join(folder, 'out.raw');
  for (const url of [`${remote.origin}/disk.raw.gz`, `${whole}.raw.gz`]) {
    expect(await convert(url, output)).toMatchObject({ sourceVerified: true });
    expectSame(output, disk.raw);
  }
});

test('a label that encodes nothing, and a redirect in UTF-8', async ({ folder }) => {
  const url = await serve((request, response) => {
    const { url = '', method = '', headers } = request;
    if (url === '/disk') {
      response.socket!.end('HTTP/1.1 302 Found\r\nLocation: /Größe\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const path = decodeURIComponent(url);
    if (path !== '/Größe') return void response.writeHead(404).end();
    response.setHeader('Content-Encoding', 'aws-chunked');
    send(replyOf(file, { url: new URL('http://host/'), method, range: headers.range, headers }), response);
  });
  const output = join(folder, 'out.raw');
  await convert(url, output);
  expectSame(output, disk.raw);
});

test('allowUrl decides about each address, also of companions and redirects', async ({ folder }) => {
  const { top, below, raw } = images.chain();
  const [middle, base] = below as [string, string];
  const remote = await serveRemote(readFileSync(base));
  const leading = await serve((_, response) => response.writeHead(302, { Location: remote.url }).end());
  const address = leading.replace('127.0.0.1', 'localhost');
  const output = join(folder, 'out.raw');
  const source = { name: base.split('/').at(-1)!, source: address };
  const seen: [string, readonly string[]][] = [];
  const allowUrl = ({ hostname }: URL, { addresses }: { addresses: readonly string[] }) => {
    seen.push([hostname, addresses]);
    return true;
  };
  await convert(top, output, { companions: [middle, source], allowUrl });
  expectSame(output, raw);
  expect(seen[0]).toEqual(['localhost', expect.arrayContaining(['127.0.0.1'])]);
  expect(seen).toContainEqual(['127.0.0.1', ['127.0.0.1']]);
  const before = remote.asked.length;
  const refusing = { companions: [middle, source], allowUrl: ({ hostname }: URL) => hostname === 'localhost' };
  await expect(convert(top, output, refusing)).rejects.toMatchObject({
    kind: 'source',
    code: 'address-not-allowed',
    fields: { host: new URL(remote.url).host },
  });
  expect(remote.asked).toHaveLength(before);
});
