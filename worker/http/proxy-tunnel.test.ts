// Proxies that make tunnels, or do not.

import { createServer, type Server } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { createServer as createPlain } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { NoAnswer, Overloaded, RequestRefused, TransientFailure } from './http-failures.js';
import { openTunnel, proxyAuthorization, shownProxy } from './proxy-tunnel.js';

let server: Server | NetServer | undefined;
afterEach(() => server?.close());

/** A proxy that answers CONNECT with `head`; records its requests. */
async function proxyOf(head: string): Promise<{ proxy: URL; seen: string[] }> {
  const seen: string[] = [];
  server = createServer().on('connect', ({ url, headers }, socket) => {
    seen.push(url!, headers['proxy-authorization'] ?? '');
    socket.end(head);
  });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { proxy: new URL(`http://me:p%C3%A4ss@127.0.0.1:${port}`), seen };
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

test('a tunnel, with the user of the proxy', async () => {
  const { proxy, seen } = await proxyOf('HTTP/1.1 200 Connection established\r\n\r\n');
  (await openTunnel(proxy, 'host:443')).destroy();
  expect(seen).toEqual(['host:443', `Basic ${Buffer.from('me:päss').toString('base64')}`]);
});

test.for([
  ['403 Forbidden', RequestRefused, 'answered 403 Forbidden; it does not allow this server'],
  ['407 Who', RequestRefused, 'answered 407 Who; give a user and a password in the URL of the proxy'],
  ['502 Bad Gateway', TransientFailure, 'answered 502 Bad Gateway'],
  ['503 Busy', Overloaded, 'answered 503 Busy'],
  ['999 Odd', TransientFailure, 'answered 502'],
] as const)('a proxy that answers %s is named, with its status', async ([status, Kind, end]) => {
  const { proxy } = await proxyOf(`HTTP/1.1 ${status}\r\n\r\n`);
  const failure = await failureOf(openTunnel(proxy, 'host:443'));
  expect(failure).toBeInstanceOf(Kind);
  expect(failure).toMatchObject({ host: proxy.host, message: `the proxy http://${proxy.host} ${end}` });
});

test('a proxy that does not exist, or is not a proxy, is named', async () => {
  const { proxy } = await proxyOf('');
  await new Promise((resolve) => server!.close(resolve));
  expect(await failureOf(openTunnel(proxy, 'host:443'))).toMatchObject({
    message: expect.stringMatching(/^no answer came from the proxy http:\/\/127\.0\.0\.1:\d+ \(.*ECONNREFUSED/),
  });
  server = createPlain((socket) => socket.on('error', () => {}).end('SSH-2.0\r\n'));
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  const other = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(await failureOf(openTunnel(other, 'host:443'))).toBeInstanceOf(NoAnswer);
});

test('no message shows the user of a proxy', () => {
  expect(shownProxy(new URL('https://me:secret@proxy:3128'))).toBe('the proxy https://proxy:3128');
  expect(proxyAuthorization(new URL('http://proxy'))).toEqual({});
  expect(proxyAuthorization(new URL('http://me:100%25@proxy'))).toEqual({
    'Proxy-Authorization': `Basic ${Buffer.from('me:100%').toString('base64')}`,
  });
});
