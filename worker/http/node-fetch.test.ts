// Reads by `node:http` from real servers.

import { createServer, type RequestListener } from 'node:http';
import { createServer as createPlain, type Server as NetServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test, vi } from 'vitest';
import { listen } from './listening.test-support.js';
import { readingFetch } from './node-fetch.js';

afterEach(() => {
  vi.unstubAllGlobals();
});

/** A server that sends `text` for each request. */
const plain = (text: string, end: (socket: Socket) => void = () => {}): NetServer =>
  createPlain((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => socket.write(text, () => end(socket)));
  });

async function read(url: string, init: RequestInit = {}): Promise<Response> {
  const { body, status, statusText, headers } = await (await readingFetch())(url, init);
  return new Response(body, { status, statusText, headers: [...headers] });
}

test('headers, statuses and bodies', async () => {
  const answer: RequestListener = ({ method, url, headers }, response) => {
    const { accept, 'user-agent': agent, 'accept-encoding': coding, range } = headers;
    response.writeHead(Number(url!.slice(1)), 'As Said', { 'X-One': ['1', '2'], Location: '/200' });
    response.end(method === 'HEAD' ? '' : JSON.stringify([method, accept, agent, coding, range]));
  };
  const origin = await listen(createServer(answer));
  const found = await read(`${origin}/206`, { headers: { Range: 'bytes=0-1' } });
  expect([found.status, found.statusText, found.headers.get('x-one')]).toEqual([206, 'As Said', '1, 2']);
  expect(await found.json()).toEqual(['GET', '*/*', 'node', 'identity', 'bytes=0-1']);
  const own = await read(`${origin}/200`, { headers: { 'User-Agent': 'me', Accept: 'text/plain' } });
  expect(await own.json()).toEqual(['GET', 'text/plain', 'me', 'identity', null]);
  expect((await read(`${origin}/302`)).status).toBe(302);
  expect((await read(`${origin}/407`)).status).toBe(407);
  for (const status of [204, 304]) expect((await read(`${origin}/${status}`)).body).toBe(null);
  expect(await (await read(`${origin}/200`, { method: 'HEAD' })).text()).toBe('');
});

test('a connection is used again, and bodies larger than its buffers arrive whole', async () => {
  const body = Buffer.alloc(9 << 20, 'abc');
  let connections = 0;
  const made = createServer((_, response) => response.end(body)).on('connection', () => {
    connections += 1;
  });
  const origin = await listen(made);
  for (let count = 0; count < 3; count += 1) {
    const ending = new AbortController();
    const response = await read(origin, { signal: ending.signal });
    expect(body.equals(new Uint8Array(await response.arrayBuffer()))).toBe(true);
    ending.abort();
  }
  expect(connections).toBe(1);
});

test('a body that is not read is not received', async () => {
  let isClosed: Promise<unknown> = Promise.resolve();
  const made = createServer((_, response) => {
    isClosed = new Promise((done) => response.once('close', done));
    response.write(Buffer.alloc(64 << 20));
  });
  const response = await read(await listen(made));
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  await isClosed;
});

test('bodies stay encoded', async () => {
  const packed = gzipSync('text');
  const headers = { 'Content-Encoding': 'gzip' };
  const origin = await listen(createServer((_, response) => response.writeHead(200, headers).end(packed)));
  const response = await read(origin);
  expect(response.headers.get('Content-Encoding')).toBe('gzip');
  expect(packed.equals(new Uint8Array(await response.arrayBuffer()))).toBe(true);
});

const HEAD = 'HTTP/1.1 200 OK\r\n';

test.each<[string, NetServer]>([
  ['nothing', plain('', (socket) => socket.destroy())],
  ['no HTTP', plain('nonsense\r\n\r\n')],
  ['a status that HTTP does not have', plain('HTTP/1.1 999 No\r\n\r\n')],
  [
    'a switch to another protocol',
    plain('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  ],
])('a server that answers %s', async (_, made) => {
  await expect(read(await listen(made))).rejects.toThrow();
});

test.each<[string, NetServer]>([
  ['ends before the stated length', plain(`${HEAD}Content-Length: 9\r\n\r\nabc`, (socket) => socket.end())],
  ['is reset', plain(`${HEAD}Content-Length: 9\r\n\r\nabc`, (socket) => socket.resetAndDestroy())],
  [
    'ends before the last chunk',
    plain(`${HEAD}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`, (socket) => socket.end()),
  ],
  ['has a chunk without a size', plain(`${HEAD}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nx\r\n`)],
])('a body that %s fails', async (_, made) => {
  const origin = await listen(made);
  const reading = async () => (await read(origin)).text();
  await expect(reading()).rejects.toThrow();
});

test.each(['before the response', 'in the body'])('an aborted request fails %s', async (when) => {
  const ending = new AbortController();
  const isEarly = when === 'before the response';
  const made = plain(isEarly ? '' : `${HEAD}Content-Length: 9\r\n\r\nabc`, () => ending.abort());
  const origin = await listen(made);
  const reading = async () => (await read(origin, { signal: ending.signal })).text();
  await expect(reading()).rejects.toThrow();
});

test('a program that replaces fetch keeps its own', async () => {
  vi.stubGlobal('fetch', async () => new Response('own'));
  expect(await (await read('http://127.0.0.1:1')).text()).toBe('own');
});
