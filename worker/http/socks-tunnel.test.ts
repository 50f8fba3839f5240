// SOCKS5 proxies (RFC 1928) that make tunnels, or do not.

import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { NoAnswer, RequestRefused } from './http-failures.js';
import { openSocksTunnel } from './socks-tunnel.js';

let server: Server | undefined;
afterEach(() => {
  vi.useRealTimers();
  server?.close();
});

interface Behaviour {
  /** The method of authentication that it chooses. */
  method?: number;
  /** Its answer to a user and a password. */
  status?: number;
  /** Its reply to the request, and the rest of it. */
  reply?: number[];
  /** Whether each byte is sent alone. */
  isSlow?: boolean;
}

const BOUND = [0, 1, 127, 0, 0, 1, 0, 80];

/** A proxy that sends back what it gets through a tunnel; records what it was asked. */
async function proxyOf({ method = 0, status = 0, reply = [0, ...BOUND], isSlow = false }: Behaviour, user = '') {
  const asked: number[][] = [];
  const serve = async (socket: Socket) => {
    const answer = async (bytes: number[]) => {
      for (const part of isSlow ? bytes.map((byte) => [byte]) : [bytes]) {
        await new Promise((resolve) => socket.write(Buffer.from(part), resolve));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    asked.push(await next(socket));
    await answer([5, method]);
    if (method === 2) {
      asked.push(await next(socket));
      await answer([1, status]);
    }
    asked.push(await next(socket));
    await answer([5, ...reply]);
    socket.pipe(socket);
  };
  server = createServer((socket) => {
    socket.on('error', () => {});
    serve(socket).catch(() => {});
  });
  return { proxy: await listening(user), asked };
}

async function listening(user = ''): Promise<URL> {
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  return new URL(`socks5://${user}127.0.0.1:${(server!.address() as AddressInfo).port}`);
}

const next = (socket: Socket): Promise<number[]> =>
  new Promise((resolve) => socket.once('data', (bytes) => resolve([...bytes])));

const failureOf = (work: Promise<Socket>): Promise<unknown> =>
  work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

/** Sends a text through the tunnel. Resolves to what comes back. */
async function echoOf(tunnel: Socket): Promise<string> {
  tunnel.end('disk');
  let text = '';
  for await (const bytes of tunnel) text += bytes;
  return text;
}

const NAME = [3, 4, ...Buffer.from('host')];

test.for([
  ['host', 80, [...NAME, 0, 80]],
  ['host', 65_535, [...NAME, 255, 255]],
  ['192.0.2.7', 443, [1, 192, 0, 2, 7, 1, 187]],
  ['2001:db8::7', 443, [4, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 1, 187]],
  ['::', 1, [4, ...Array(16).fill(0), 0, 1]],
  ['::ffff:192.0.2.7', 1, [4, ...Array(10).fill(0), 255, 255, 192, 0, 2, 7, 0, 1]],
  ['1:2:3:4:5:6:7:8', 1, [4, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 1]],
] as const)('a tunnel to %s, port %i', async ([host, port, address]) => {
  const { proxy, asked } = await proxyOf({});
  expect(await echoOf(await openSocksTunnel(proxy, host, port))).toBe('disk');
  expect(asked).toEqual([
    [5, 1, 0],
    [5, 1, 0, ...address],
  ]);
});

test.for([
  ['an IPv4 address', BOUND],
  ['an IPv6 address', [0, 4, ...Array(16).fill(1), 0, 80]],
  ['a name', [0, ...NAME, 0, 80]],
  ['an empty name', [0, 3, 0, 0, 80]],
] as const)('the proxy connects from %s, byte by byte', async ([, bound]) => {
  const { proxy } = await proxyOf({ reply: [0, ...bound], isSlow: true });
  expect(await echoOf(await openSocksTunnel(proxy, 'host', 80))).toBe('disk');
});

describe('a user and a password', () => {
  test('are sent if the proxy wants them', async () => {
    const { proxy, asked } = await proxyOf({ method: 2 }, 'me:p%C3%A4ss@');
    expect(await echoOf(await openSocksTunnel(proxy, 'host', 80))).toBe('disk');
    expect(asked.slice(0, 2)).toEqual([
      [5, 2, 0, 2],
      [1, 2, ...Buffer.from('me'), 5, ...Buffer.from('päss')],
    ]);
  });

  test('are not sent otherwise', async () => {
    const { proxy, asked } = await proxyOf({}, 'me:secret@');
    expect(await echoOf(await openSocksTunnel(proxy, 'host', 80))).toBe('disk');
    expect(asked).toHaveLength(2);
  });

  test('that are too long are no request', async () => {
    const { proxy, asked } = await proxyOf({ method: 2 }, `me:${'x'.repeat(256)}@`);
    expect(String(await failureOf(openSocksTunnel(proxy, 'host', 80)))).toContain('has more than 255 bytes');
    expect(asked).toHaveLength(1);
  });
});

test.for([
  ['a wrong password', { method: 2, status: 1 }, 'me:x@', 407, 'refuses the user and the password in its URL'],
  ['no user', { method: 255 }, '', 407, 'accepts no connection without a user and a password; give them in its URL'],
  ['a method that was not offered', { method: 1 }, 'me:x@', 407, 'accepts no connection without a user'],
  ['a password that was not offered', { method: 2 }, '', 407, 'accepts no connection without a user'],
  ['a rule', { reply: [2, ...BOUND] }, '', 403, 'does not allow this server'],
] as const)('%s: the proxy refuses', async ([, behaviour, user, status, message]) => {
  const { proxy } = await proxyOf(behaviour as unknown as Behaviour, user);
  const failure = await failureOf(openSocksTunnel(proxy, 'host', 80));
  expect(failure).toBeInstanceOf(RequestRefused);
  expect(failure).toMatchObject({ host: proxy.host, status });
  expect(String(failure)).toContain(`the proxy socks5://${proxy.host} ${message}`);
});

test.for([
  [1, 'it does not say why'],
  [3, 'the network is unreachable'],
  [5, 'the connection was refused'],
  [9, 'it does not say why'],
] as const)('a proxy that replies %i is named', async ([reply, reason]) => {
  const { proxy } = await proxyOf({ reply: [reply, ...BOUND] });
  const failure = await failureOf(openSocksTunnel(proxy, 'host', 80));
  expect(failure).toBeInstanceOf(NoAnswer);
  const message = `the proxy socks5://${proxy.host} could not connect (${reason})`;
  expect(failure).toMatchObject({ host: proxy.host, message });
});

test.for([
  ['another protocol', 'SSH-2.0\r\n', 'its answer is not one of SOCKS5'],
  ['half an answer', '\x05', 'it has closed the connection'],
  ['no answer', '', 'it has closed the connection'],
] as const)('a server with %s is named', async ([, text, reason]) => {
  server = createServer((socket) => socket.on('error', () => {}).end(text, 'latin1'));
  const proxy = await listening();
  const failure = await failureOf(openSocksTunnel(proxy, 'host', 80));
  expect(failure).toBeInstanceOf(NoAnswer);
  const message = `no answer came from the proxy socks5://${proxy.host} (${reason})`;
  expect(failure).toMatchObject({ host: proxy.host, message });
});

test('a proxy that does not exist, or is silent, is named', async () => {
  const { proxy } = await proxyOf({});
  await new Promise((resolve) => server!.close(resolve));
  expect(await failureOf(openSocksTunnel(proxy, 'host', 80))).toMatchObject({
    message: expect.stringMatching(/^no answer came from the proxy socks5:\/\/127\.0\.0\.1:\d+ \(.*ECONNREFUSED/),
  });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const sockets: Socket[] = [];
  const asked = new Promise<void>((resolve) => {
    server = createServer((socket) => {
      sockets.push(socket.on('error', () => {}));
      socket.once('data', () => resolve());
    });
  });
  const failing = failureOf(openSocksTunnel(await listening(), 'host', 80));
  await asked;
  vi.runAllTimers();
  expect(String(await failing)).toContain('(nothing for 20 seconds)');
  for (const socket of sockets) socket.destroy();
});
