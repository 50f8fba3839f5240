// The allowed addresses, and the host in the error.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type Asked, fetchBy, type Reply } from '../../e2e/support/replies.js';
import { addressOf } from './address.js';
import { type AddressGuard, AddressNotAllowed, HttpClient, type HttpPlatform } from './http-client.js';
import type { HttpOptions } from './http-types.js';
import { makeGuard, undecodedFetch } from './node-fetch.js';
import { Retries } from './retries.js';

const NODE = { seesRedirects: true };
const { signal } = new AbortController();
const OK: Reply = { status: 200, body: Buffer.from('the file') };

const clientOf = (answer: (asked: Asked) => Reply, options: HttpOptions = {}, platform: HttpPlatform = NODE) =>
  new HttpClient(addressOf('https://host/disk?id=7'), platform, { fetch: fetchBy(answer), ...options }, new Retries());

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

describe('the host that failed', () => {
  const elsewhere = (reply: Reply) => (asked: Asked) =>
    asked.url.hostname === 'host' ? { status: 302, headers: { Location: 'https://other:8443/disk' } } : reply;

  test('is the one without a response', async () => {
    const failure = await failureOf(clientOf(elsewhere({ end: 'broken' })).request('GET', undefined, signal));
    expect(failure).toMatchObject({
      host: 'other:8443',
      message: 'no answer came from https://other:8443 (other side closed)',
    });
  });

  test('is the one that is silent', async () => {
    vi.useFakeTimers();
    vi.setTimerTickMode('nextTimerAsync');
    const failure = await failureOf(clientOf(elsewhere({ end: 'silent' })).request('GET', undefined, signal));
    vi.useRealTimers();
    expect(failure).toMatchObject({
      host: 'other:8443',
      message: 'no byte came for 30 seconds from https://other:8443',
    });
  });

  test('is known from a response', async () => {
    expect(await clientOf(() => OK).request('GET', undefined, signal)).toMatchObject({
      host: 'host',
      server: 'the server',
    });
    const exchange = await clientOf(elsewhere(OK)).request('GET', undefined, signal);
    expect(exchange).toMatchObject({ host: 'other:8443', server: 'https://other:8443' });
  });
});

describe('allowUrl', () => {
  const redirecting = ({ url }: Asked): Reply =>
    url.hostname === 'host' ? { status: 302, headers: { Location: 'https://other/disk' } } : OK;

  /** A platform with two addresses for each name, which fails for a name that was not allowed. */
  function guarded(answer: (asked: Asked) => Reply) {
    const allowed: [string, string[]][] = [];
    const guard: AddressGuard = {
      resolve: async ({ hostname }) => [`1.1.1.${hostname.length}`, '::1'],
      allow: ({ hostname }, addresses) => void allowed.push([hostname, addresses]),
      fetch: fetchBy(answer),
      fetchUndecoded: fetchBy(answer),
    };
    return { allowed, platform: { ...NODE, guard: async () => guard } };
  }

  test('is called before each request, with the IP addresses of the name', async () => {
    const { allowed, platform } = guarded(redirecting);
    const allowUrl = vi.fn(async () => true);
    const client = new HttpClient(addressOf('https://host/disk?id=7'), platform, { allowUrl }, new Retries());
    await client.request('GET', undefined, signal);
    await client.request('GET', undefined, signal);
    const calls = [
      [new URL('https://host/disk?id=7'), { addresses: ['1.1.1.4', '::1'] }],
      [new URL('https://other/disk'), { addresses: ['1.1.1.5', '::1'] }],
      [new URL('https://other/disk'), { addresses: ['1.1.1.5', '::1'] }],
    ];
    expect(allowUrl.mock.calls).toEqual(calls);
    expect(allowed).toEqual([
      ['host', ['1.1.1.4', '::1']],
      ['other', ['1.1.1.5', '::1']],
      ['other', ['1.1.1.5', '::1']],
    ]);
  });

  test.for([
    ['no', () => false],
    ['nothing', () => undefined],
    ['something else', () => 'yes'],
    ['a promise of no', async () => false],
  ])('no request is made if it returns %s', async ([, allowUrl]) => {
    const answer = vi.fn(() => OK);
    const { allowed, platform } = guarded(answer);
    const options = { allowUrl } as HttpOptions;
    const client = new HttpClient(addressOf('https://host/disk?secret'), platform, options, new Retries());
    const failure = await failureOf(client.request('GET', undefined, signal));
    expect(failure).toBeInstanceOf(AddressNotAllowed);
    expect((failure as Error).message).toBe("'allowUrl' does not allow requests to https://host");
    expect(answer).not.toHaveBeenCalled();
    expect(allowed).toEqual([]);
  });

  test('a redirect that it refuses is not followed', async () => {
    const asked: string[] = [];
    const { platform } = guarded((request) => {
      asked.push(request.url.hostname);
      return redirecting(request);
    });
    const allowUrl = ({ hostname }: URL) => hostname === 'host';
    const client = new HttpClient(addressOf('https://host/disk'), platform, { allowUrl }, new Retries());
    expect(await failureOf(client.request('GET', undefined, signal))).toBeInstanceOf(AddressNotAllowed);
    expect(asked).toEqual(['host']);
  });

  test('in a browser it is called with the URL, and with the URL of the response', async () => {
    const answered = Object.defineProperties(new Response('x'), {
      redirected: { value: true },
      url: { value: 'https://other/disk' },
    });
    const allowUrl = vi.fn(({ hostname }: URL) => hostname === 'host');
    const options = { allowUrl, fetch: async () => answered };
    const failure = await failureOf(
      clientOf(() => OK, options, { seesRedirects: false }).request('GET', undefined, signal),
    );
    expect(failure).toBeInstanceOf(AddressNotAllowed);
    expect((allowUrl.mock.calls as unknown as [URL, unknown][]).map(([{ href }, where]) => [href, where])).toEqual([
      ['https://host/disk?id=7', { addresses: [] }],
      ['https://other/disk', { addresses: [] }],
    ]);
  });
});

describe('requests of Node', () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  async function serve(headers: Record<string, string>, body: Buffer): Promise<string> {
    server = createServer((_, response) => response.writeHead(200, headers).end(body));
    await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
    return `http://localhost:${(server.address() as AddressInfo).port}/`;
  }

  test('go only to allowed addresses', async () => {
    const url = new URL(await serve({}, Buffer.from('the file')));
    const guard = await makeGuard();
    expect(await guard.resolve(url)).toContain('127.0.0.1');
    expect(await guard.resolve(new URL('http://[::1]:1/'))).toEqual(['::1']);
    await expect(guard.fetch(url)).rejects.toThrow();
    guard.allow(url, ['127.0.0.2']);
    // No server listens there.
    await expect(guard.fetch(url)).rejects.toThrow();
    guard.allow(url, ['127.0.0.1']);
    expect(await (await guard.fetch(url)).text()).toBe('the file');
    expect(await (await guard.fetchUndecoded(url)).text()).toBe('the file');
  });

  test('leave bodies encoded', async () => {
    const packed = gzipSync('the file');
    const headers = { 'Content-Encoding': 'gzip', ETag: '"a"' };
    const url = await serve(headers, packed);
    const fetchStored = await undecodedFetch();
    const response = await fetchStored(url, { headers: { 'X-Token': 'mine' }, signal });
    expect(Buffer.from(await response.arrayBuffer())).toEqual(packed);
    expect(response.headers.get('Content-Encoding')).toBeNull();
    expect(response.headers.get('ETag')).toBe('"a"');
    expect(response.status).toBe(200);
  });

  test('a request for an encoded body can be aborted', async () => {
    const url = await serve({ 'Content-Length': '1000' }, Buffer.alloc(0));
    const fetchStored = await undecodedFetch();
    await expect(fetchStored(url, { signal: AbortSignal.abort() })).rejects.toThrow();
  });
});
