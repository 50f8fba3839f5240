import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createPlain, type Server as NetServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { failure } from '../upload/uploads.test-support.js';
import { listen } from './listening.test-support.js';

const NAMES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'];

beforeEach(() => {
  vi.resetModules();
  vi.unstubAllEnvs();
  for (const name of NAMES) vi.stubEnv(name, undefined);
});

let openHttp: typeof import('../sources/open-http.js').openHttp;
let putTarget: typeof import('../upload/index.js').putTarget;
let tusTarget: typeof import('../upload/index.js').tusTarget;

beforeEach(async () => {
  ({ openHttp } = await import('../sources/open-http.js'));
  ({ putTarget, tusTarget } = await import('../upload/index.js'));
});

/** The dispatcher for the environment's proxies, as in a new process. */
const environmentFetch = async () => (await import('./node-fetch.js')).environmentFetch();

test('without a proxy, the global fetch', async () => {
  expect(await environmentFetch()).toBe(fetch);
  vi.stubEnv('HTTP_PROXY', '');
  vi.resetModules();
  expect(await environmentFetch()).toBe(fetch);
});

test.for(NAMES)('%s names a proxy', async (name) => {
  vi.stubEnv(name, 'http://127.0.0.1:1');
  const proxied = await environmentFetch();
  expect(proxied).not.toBe(fetch);
  // The environment is read only once.
  expect(await (await import('./node-fetch.js')).environmentFetch()).toBe(proxied);
});

/** A SOCKS5 proxy (RFC 1928) that connects every request to `port`; records the hosts. */
async function socksTo(port: number): Promise<{ server: NetServer; port: number; hosts: string[] }> {
  const hosts: string[] = [];
  const server = createPlain((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(Buffer.from([5, 0]));
      socket.once('data', (asked) => {
        hosts.push(asked.subarray(5, 5 + asked[4]!).toString());
        socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
        socket.pipe(connect(port, '127.0.0.1')).pipe(socket);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port, hosts };
}

test.for(['socks5', 'socks5h'])('ALL_PROXY names a proxy of %s: no warning is printed', async (scheme) => {
  const origin = createServer((_, response) => response.end('disk'));
  const socks = await socksTo(Number(new URL(await listen(origin)).port));
  const warned = vi.fn();
  process.on('warning', warned);
  vi.stubEnv('ALL_PROXY', `${scheme}://127.0.0.1:${socks.port}`);
  const response = await (await environmentFetch())('http://images.test/disk', {});
  expect(await response.text()).toBe('disk');
  expect(socks.hosts).toEqual(['images.test']);
  // Warnings are emitted by the next tick.
  await new Promise((resolve) => setImmediate(resolve));
  expect(warned).not.toHaveBeenCalled();
  process.off('warning', warned);
  socks.server.close();
});

test('a PUT that is redirected through a proxy: the error names the address', async () => {
  const proxy = createServer((request, response) => {
    request.resume();
    response.writeHead(307, { Location: 'http://other.test/disk?secret' }).end();
  });
  vi.stubEnv('http_proxy', await listen(proxy));
  const target = putTarget({ url: 'http://images.test/disk', fetch: await environmentFetch() });
  await target.open?.({ ascending: true });
  const failing = failure(Promise.resolve(target.close()));
  expect(await failing).toContain('the server redirects to http://other.test/disk: use this address');
  await Promise.resolve(target.abort(new Error())).catch(() => {});
});

describe('a server that refuses every request by 407', () => {
  let server: Server;
  let asked = 0;
  let host = '';
  beforeEach(async () => {
    asked = 0;
    server = createServer((request, response) => {
      asked += 1;
      request.resume();
      response.writeHead(407, { 'Proxy-Authenticate': 'Basic' }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const REFUSAL = 'answered 407; give a user and a password in the URL of the proxy';
  type Made = Awaited<ReturnType<typeof environmentFetch>>;
  const platform = (fetch: Made) => ({ seesRedirects: true, fetch: async () => fetch });
  const plan = { virtualSize: 1, outputSize: 1, ascending: true };
  const put = async (url: string, fetch: Made) => {
    const target = putTarget({ url, fetch });
    await target.open?.(plan);
    try {
      await target.write(0, new Uint8Array(1));
      await target.close();
    } catch (thrown) {
      // A proxy that is gone leaves the state of the object unknown.
      await Promise.resolve(target.abort(thrown as Error)).catch(() => {});
      throw thrown;
    }
  };
  const USES = {
    'a read': (url: string, fetch: Made) => openHttp(platform(fetch), url, {}),
    'an upload in parts': async (url: string, fetch: Made) => tusTarget({ url, fetch }).open?.(plan),
    'a PUT': put,
  };

  test.for(Object.entries(USES))('%s through it as a proxy', async ([, use]) => {
    vi.stubEnv('http_proxy', `http://me:SECRET@${host}`);
    const work = use('http://images.test/disk', await environmentFetch());
    expect(await failure(Promise.resolve(work))).toContain(`: the proxy http://${host} ${REFUSAL}`);
    expect(asked).toBe(1);
  });

  test.for(Object.entries(USES))('%s at it', async ([, use]) => {
    const work = use(`http://${host}/disk`, await environmentFetch());
    expect(await failure(Promise.resolve(work))).toContain(': the server answered 407; a proxy requires a user');
    expect(asked).toBe(1);
  });

  test.for(Object.entries(USES))('%s through a proxy that is gone', async ([, use]) => {
    vi.stubEnv('http_proxy', `http://${host}`);
    await new Promise((resolve) => server.close(resolve));
    const work = use('http://images.test/disk', await environmentFetch());
    expect(await failure(Promise.resolve(work))).toMatch(
      /: no answer came from the proxy http:\/\/\S+ \(.*ECONNREFUSED/,
    );
    server.listen();
  });
});
