// A PUT to real servers that refuse, redirect or break the connection while the body is being sent.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createPlain, type Server as NetServer, type Socket } from 'node:net';
import { getGlobalDispatcher, ProxyAgent, setGlobalDispatcher } from 'undici';
import { afterEach, expect, test, vi } from 'vitest';
import { DecantError } from '../errors/errors.js';
import { listen } from '../http/listening.test-support.js';
import { hasNodeFetch } from '../http/node-response.js';
import { putTarget } from './index.js';
import { streamFetch } from './node-stream-fetch.js';

const MIB = 1 << 20;
/** More than the buffers of a connection. */
const SIZE = 64 * MIB;

afterEach(() => {
  vi.unstubAllGlobals();
});

/** A server that reads nothing after the first bytes, and calls `act` then. */
const plain = (act: (socket: Socket) => void): NetServer =>
  createPlain({ noDelay: true }, (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => act(socket.pause()));
  });

/** A server that asks for the body, and reads some of it before it calls `act`. */
const reading = (act: (socket: Socket) => void): NetServer =>
  // Otherwise a response may wait for the end of an earlier packet, and is lost with a reset.
  createPlain({ noDelay: true }, (socket) => {
    let isAsked = false;
    let came = 0;
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      if (!isAsked) socket.write('HTTP/1.1 100 Continue\r\n\r\n');
      isAsked = true;
      came += bytes.length;
      if (came > MIB) act(socket.pause());
    });
  });

const answer = (status: string, headers = '') => `HTTP/1.1 ${status}\r\nContent-Length: 2\r\n${headers}\r\nno`;

/** Uploads zeros by one PUT. Resolves to the error. */
async function failureOf(url: string): Promise<unknown> {
  const target = putTarget({ url, patience: 20 });
  try {
    await target.open!({ outputSize: SIZE, ascending: true });
    const piece = new Uint8Array(MIB);
    for (let at = 0; at < SIZE; at += MIB) await target.write(at, piece);
    await target.close();
    return undefined;
  } catch (thrown) {
    await Promise.resolve(target.abort(thrown as Error)).catch(() => {});
    return thrown;
  }
}

const ENDINGS: Record<string, (socket: Socket, text: string) => void> = {
  'keeps the connection': (socket, text) => void socket.write(text),
  'closes the connection': (socket, text) => void socket.write(text, () => socket.destroy()),
  'resets the connection': (socket, text) => void socket.write(text, () => socket.resetAndDestroy()),
};

const REFUSALS: [string, string, string, Record<string, unknown>][] = [
  ['401 Unauthorized', '', 'the server answered 401 Unauthorized; it requires a user or a token', { status: 401 }],
  [
    '413 Content Too Large',
    '',
    'the server answered 413 Content Too Large; the file is too large for it',
    { status: 413 },
  ],
  ['503 Slow Down', '', 'the server answered 503 Slow Down', { status: 503 }],
  [
    '307 Temporary Redirect',
    'Location: /other?sig=secret\r\n',
    'the server redirects to ORIGIN/other: use this address',
    { status: 307, location: 'ORIGIN/other' },
  ],
];

const CASES = Object.entries({ 'at once': plain, 'in the middle': reading }).flatMap(([when, make]) =>
  Object.keys(ENDINGS).flatMap((ending) => REFUSALS.map((refusal) => ({ when, make, ending, refusal }))),
);

test.each(CASES)('a server that answers $refusal.0 $when and $ending', async ({ make, ending, refusal }) => {
  const [status, headers, reason, fields] = refusal;
  const origin = await listen(make((socket) => ENDINGS[ending]!(socket, answer(status, headers))));
  const failure = await failureOf(`${origin}/disk`);
  expect(failure).toBeInstanceOf(DecantError);
  const { message, fields: found } = failure as DecantError;
  expect(message).toBe(`Could not upload to '${origin}/disk': ${reason.replace('ORIGIN', origin)}`);
  const expected = Object.entries(fields).map(([name, value]) => [name, String(value).replace('ORIGIN', origin)]);
  expect(Object.fromEntries(Object.entries(found).map(([name, value]) => [name, String(value)]))).toMatchObject(
    Object.fromEntries(expected),
  );
});

test.each<[string, NetServer, string]>([
  ['closes the connection', plain((socket) => socket.destroy()), 'the server closed the connection without a response'],
  ['answers nonsense', plain((socket) => socket.end('nonsense\r\n\r\n')), 'the answer is not valid HTTP'],
])('a server that %s', async (_, made, reason) => {
  const origin = await listen(made);
  expect(await failureOf(`${origin}/disk`)).toMatchObject({
    code: 'no-answer',
    message:
      `Could not upload to '${origin}/disk': no answer came from ${origin} (${reason}; the server may expect https)`.replace(
        'response; the server',
        'response; it',
      ),
  });
});

/** Uploads a small output by one PUT, which fails. Resolves to what `abort` says about the object. */
async function leftAt(url: string): Promise<unknown> {
  const target = putTarget({ url, patience: 20 });
  await target.open!({ outputSize: 512, ascending: true });
  await target.write(0, new Uint8Array(512));
  const failure = await (async () => target.close())().catch((thrown: unknown) => thrown);
  expect(failure).toMatchObject({ kind: 'target', code: 'no-answer' });
  return Promise.resolve(target.abort(failure as Error)).catch((thrown: unknown) => thrown);
}

test.each<[string, (port: string) => string]>([
  ['address', (port) => `http://127.0.0.1:${port}/disk`],
  ['name of several addresses', (port) => `http://localhost:${port}/disk`],
  ['unknown name', () => 'http://no-such-host.invalid/disk'],
])('without a connection, no object can stay: %s', async (_, urlOf) => {
  const server = createPlain();
  await new Promise<void>((done) => server.listen(0, done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  expect(await leftAt(urlOf(String(port)))).toBeUndefined();
});

test('after a connection that was closed, the object may stay', async () => {
  const origin = await listen(plain((socket) => socket.destroy()));
  expect(await leftAt(`${origin}/disk`)).toMatchObject({ code: 'object-completed' });
});

/** Sends `pieces` by `streamFetch`. Resolves to the status and the body of the response. */
async function sent(url: string, pieces: string[], headers = {}): Promise<[number, string]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });
  const { signal } = new AbortController();
  const response = await streamFetch(new URL(url), { method: 'PUT', headers, body, signal });
  return [response.status, await response.text()];
}

/** Answers with the header `name` and the body of the request. */
const echo = (request: IncomingMessage, response: ServerResponse) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    response.end(`${request.headers.expect} ${request.headers['content-length']} ${Buffer.concat(pieces)}`);
  });
};

test('the body is sent when the server asks for it', async () => {
  const origin = await listen(createServer(echo));
  expect(await sent(origin, ['a', 'bc'])).toEqual([200, '100-continue undefined abc']);
  expect(await sent(origin, ['a', 'bc'], { 'Content-Length': '3' })).toEqual([200, '100-continue 3 abc']);
  expect(await sent(origin, [])).toEqual([200, '100-continue undefined ']);
});

test('many small pieces add no listeners', async () => {
  const warned = vi.fn();
  process.on('warning', warned);
  const origin = await listen(createServer(echo));
  expect(await sent(origin, Array(50).fill('a'))).toEqual([200, `100-continue undefined ${'a'.repeat(50)}`]);
  process.off('warning', warned);
  expect(warned).not.toHaveBeenCalled();
});

test('a server that switches to another protocol', async () => {
  const text = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
  const origin = await listen(plain((socket) => void socket.write(text)));
  await expect(sent(origin, ['abc'])).rejects.toThrow('closed without a response');
});

test('the body is sent to a server that does not ask for it', async () => {
  const made = createServer().on('checkContinue', echo);
  expect(await sent(await listen(made), ['abc'])).toEqual([200, '100-continue undefined abc']);
});

test('the request is repeated for a server that does not know the expectation', async () => {
  const made = createServer(echo).on('checkContinue', (_: IncomingMessage, response: ServerResponse) =>
    response.writeHead(417).end(),
  );
  expect(await sent(await listen(made), ['abc'])).toEqual([200, 'undefined undefined abc']);
});

test.each([201, 204])('%i', async (status) => {
  const made = createServer((request, response) => request.resume().on('end', () => response.writeHead(status).end()));
  expect(await sent(await listen(made), ['abc'])).toEqual([status, '']);
});

test('a program that replaces fetch, or its dispatcher, keeps its own', () => {
  expect(hasNodeFetch()).toBe(true);
  vi.stubGlobal('fetch', async () => new Response());
  expect(hasNodeFetch()).toBe(false);
  vi.unstubAllGlobals();
  const before = getGlobalDispatcher();
  setGlobalDispatcher(new ProxyAgent('http://127.0.0.1:1'));
  expect(hasNodeFetch()).toBe(false);
  setGlobalDispatcher(before);
  expect(hasNodeFetch()).toBe(true);
});
