import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Asked, fetchBy, type Reply } from '../../e2e/support/replies.js';
import { addressOf } from './address.js';
import type { HttpExchange } from './exchange.js';
import { HttpClient, type HttpPlatform } from './http-client.js';
import { NoAnswer, Overloaded, TransientFailure } from './http-failures.js';
import type { HttpOptions } from './http-types.js';
import { Retries } from './retries.js';

const NODE = { seesRedirects: true };
const BROWSER = { seesRedirects: false };
const never = new AbortController().signal;

beforeEach(() => {
  vi.useFakeTimers();
  vi.setTimerTickMode('nextTimerAsync');
});
afterEach(() => {
  vi.useRealTimers();
});

const OK: Reply = { status: 200, body: Buffer.from('the file') };

/** Makes a client of `address` with responses by `answer`; records its requests. */
function clientOf(
  answer: (asked: Asked, number: number) => Reply,
  {
    address = 'https://host/disk',
    platform = NODE,
    retries = new Retries(),
    ...options
  }: HttpOptions & { address?: string; platform?: typeof NODE; retries?: Retries } = {},
): { client: HttpClient; asked: Asked[]; ask: (signal?: AbortSignal) => Promise<HttpExchange> } {
  const asked: Asked[] = [];
  const fetch = fetchBy((request) => answer(request, asked.push(request) - 1));
  const client = new HttpClient(addressOf(address), platform, { fetch, ...options }, retries);
  return { client, asked, ask: (signal = new AbortController().signal) => client.request('GET', 'bytes=0-9', signal) };
}

async function textOf({ next }: HttpExchange): Promise<string> {
  const parts: Uint8Array[] = [];
  for (let part = await next(); part; part = await next()) parts.push(part);
  return Buffer.concat(parts).toString();
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

test('a request has a method, a range, and the headers of the caller', async () => {
  const { client, asked } = clientOf(() => OK, { headers: { 'X-Token': 'mine' } });
  const exchange = await client.request('GET', 'bytes=5-6', never);
  expect(await textOf(exchange)).toBe('the file');
  await client.request('HEAD', undefined, never);
  expect(asked).toMatchObject([
    { method: 'GET', range: 'bytes=5-6', headers: { 'x-token': 'mine' } },
    { method: 'HEAD', range: undefined, headers: { 'x-token': 'mine' } },
  ]);
});

test.for([
  ['of the address', {}, `Basic ${btoa('me:secret')}`],
  ['of the caller', { headers: { authorization: 'Bearer mine' } }, 'Bearer mine'],
] as const)('authorization %s', async ([, options, authorization]) => {
  const { asked, ask } = clientOf(() => OK, { address: 'https://me:secret@host/disk', ...options });
  await ask();
  expect(asked[0]).toMatchObject({ url: new URL('https://host/disk'), headers: { authorization } });
});

test('a headers function is called for each request', async () => {
  let calls = 0;
  const headers = async () => ({ 'X-Token': String(++calls) });
  const { asked, ask } = clientOf(() => OK, { headers });
  for (let count = 0; count < 3; count += 1) await ask();
  expect(asked.map(({ headers }) => headers['x-token'])).toEqual(['1', '2', '3']);
});

test.for([
  ['Node', NODE, {}, 'manual'],
  ['a browser', BROWSER, {}, 'follow'],
  ['a browser, with a token', BROWSER, { headers: { Authorization: 'Bearer mine' } }, 'follow'],
  ['a browser, with another header', BROWSER, { headers: { 'X-Token': 'mine' } }, 'error'],
] as const)('the redirect mode: %s', async ([, platform, options, redirect]) => {
  const fetch = vi.fn(async () => new Response('x'));
  await clientOf(() => OK, { platform, ...options, fetch, credentials: 'omit' }).ask();
  expect(fetch).toHaveBeenCalledWith(
    new URL('https://host/disk'),
    expect.objectContaining({ redirect, cache: 'no-store', credentials: 'omit' }),
  );
});

test('requests use the option, otherwise the platform, otherwise the global fetch', async () => {
  const made: string[] = [];
  const fetchNamed = (name: string) => async () => {
    made.push(name);
    return new Response('x');
  };
  vi.stubGlobal('fetch', fetchNamed('global'));
  const address = addressOf('https://host/');
  const platform = { ...NODE, fetch: async () => fetchNamed('platform') };
  const ask = (...[platform, options]: [HttpPlatform, HttpOptions]) =>
    new HttpClient(address, platform, options, new Retries()).request('GET', undefined, never);
  await ask(NODE, {});
  await ask(platform, {});
  await ask(platform, { fetch: fetchNamed('option') });
  expect(made).toEqual(['global', 'platform', 'option']);
});

/** Redirects from one URL to another. */
const redirecting =
  (ways: Record<string, string>, last: Reply = OK) =>
  ({ url }: Asked): Reply => {
    const Location = ways[url.href];
    return Location === undefined ? last : { status: 302, headers: { Location } };
  };

test('headers go to the origin of the address only', async () => {
  const ways = {
    'https://host/disk': '/same',
    'https://host/same': 'https://other/disk',
    'https://other/disk': 'https://host/back',
  };
  const headers = { Authorization: 'Bearer mine', 'X-Token': 'mine' };
  const { asked, ask } = clientOf(redirecting(ways), { headers });
  await ask();
  expect(asked.map(({ url, headers }) => [url.href, headers['x-token'], headers.authorization])).toEqual([
    ['https://host/disk', 'mine', 'Bearer mine'],
    ['https://host/same', 'mine', 'Bearer mine'],
    ['https://other/disk', undefined, undefined],
    ['https://host/back', 'mine', 'Bearer mine'],
  ]);
  expect(asked.every(({ range }) => range === 'bytes=0-9')).toBe(true);
});

const LEAVES_HTTPS = "the server's Location header leads from https to http, where others can read and change the data";

test.for([
  ['another protocol', 'ftp://other/', "the server's Location header leads to an address of ftp:"],
  ['no address', 'http://[secret', "the server's Location header is not a valid address"],
  ['http', 'http://other/disk', LEAVES_HTTPS],
] as const)('a redirect to %s is not followed', async ([, location, message]) => {
  const { asked, ask } = clientOf(redirecting({ 'https://host/disk': location }));
  expect(await failureOf(ask())).toMatchObject({ message });
  expect(asked).toHaveLength(1);
});

test('a redirect to http on the same host keeps https', async () => {
  const { asked, ask } = clientOf(redirecting({ 'https://host/disk': 'http://host/moved' }));
  await ask();
  expect(asked.map(({ url }) => url.href)).toEqual(['https://host/disk', 'https://host/moved']);
});

test('user and password in a redirect are not sent', async () => {
  const { asked, ask } = clientOf(redirecting({ 'https://host/disk': 'https://me:secret@other/disk' }));
  await ask();
  expect(asked[1]?.url.href).toBe('https://other/disk');
});

test.for([
  [10, 'the file'],
  [11, 'the server redirects more than 10 times'],
] as const)('%d redirects: %s', async ([count, expected]) => {
  const answer = (_: Asked, number: number): Reply =>
    number < count ? { status: 307, headers: { Location: `/${number}` } } : OK;
  const reported = await clientOf(answer)
    .ask()
    .then(textOf, ({ message }) => message);
  expect(reported).toBe(expected);
});

test.for([
  ['every redirect', () => true, true],
  ['one redirect', (number: number) => number === 3, true],
  ['no redirect', () => false, false],
] as const)('a circle of redirects with a cookie in %s', async ([, setsCookie, needsCookie]) => {
  const answer = (_: Asked, number: number): Reply => ({
    status: 302,
    headers: { Location: '/disk', ...(setsCookie(number) ? { 'Set-Cookie': 'session=secret' } : {}) },
  });
  const advice = '; it sets a cookie and may need it in the next request: pass a Cookie header';
  expect(await failureOf(clientOf(answer).ask())).toMatchObject({
    code: 'too-many-redirects',
    fields: { host: 'host', cookie: needsCookie },
    message: `the server redirects more than 10 times${needsCookie ? advice : ''}`,
  });
});

test('a server that wants its cookie gets it from the headers of the caller', async () => {
  const answer = ({ headers }: Asked): Reply =>
    headers.cookie === 'session=1' ? OK : { status: 302, headers: { Location: '/disk', 'Set-Cookie': 'session=1' } };
  expect(await textOf(await clientOf(answer, { headers: { Cookie: 'session=1' } }).ask())).toBe('the file');
});

test('a redirect without Location is a response', async () => {
  const { response } = await clientOf(() => ({ status: 302 })).ask();
  expect(response.status).toBe(302);
});

test.for([
  [200, 'asked again'],
  [206, 'asked again'],
  [416, 'asked again'],
  [503, 'then the address'],
  [404, 'the address at once'],
  [400, 'the address at once'],
  [302, 'the address at once'],
] as const)('the redirect target answers %d: %s', async ([status, then]) => {
  const [address, mirror] = ['https://host/disk', 'https://mirror/disk'];
  const answer = ({ url }: Asked, number: number): Reply => {
    if (url.href === address) return { status: 302, headers: { Location: mirror } };
    return number === 2 ? { status } : OK;
  };
  const { asked, ask } = clientOf(answer);
  for (let count = 0; count < 3; count += 1) await ask();
  expect(asked.map(({ url }) => url.href)).toEqual([
    ...[address, mirror, mirror],
    ...{
      'asked again': [mirror],
      'then the address': [address, mirror],
      // Within the second request; the third one asks the mirror again.
      'the address at once': [address, mirror, mirror],
    }[then],
  ]);
});

test('a silent redirect target is not requested again', async () => {
  const answer = ({ url }: Asked, number: number): Reply => {
    if (url.hostname === 'host') return { status: 302, headers: { Location: 'https://mirror/disk' } };
    return number === 2 ? { end: 'broken' } : OK;
  };
  const { asked, ask } = clientOf(answer);
  await ask();
  expect(await failureOf(ask())).toBeInstanceOf(NoAnswer);
  await ask();
  expect(asked.map(({ url }) => url.hostname)).toEqual(['host', 'mirror', 'mirror', 'host', 'mirror']);
});

test.for([
  ['a server that breaks the connection', NODE, 'no answer came from https://host (other side closed)'],
  [
    'a server that a page may not read',
    BROWSER,
    'no answer came from https://host, or its CORS rules do not allow this page',
  ],
] as const)('no answer: %s', async ([, platform, message]) => {
  const failure = await failureOf(clientOf(() => ({ end: 'broken' }), { platform }).ask());
  expect(failure).toBeInstanceOf(NoAnswer);
  expect((failure as Error).message).toContain(message);
  expect((failure as Error).cause).toBeInstanceOf(TypeError);
});

test('a page with its own server gets no hint about other origins', async () => {
  vi.stubGlobal('location', { href: 'https://host/', origin: 'https://host' });
  const failure = await failureOf(clientOf(() => ({ end: 'broken' }), { platform: BROWSER }).ask());
  expect(failure).toMatchObject({ message: 'no answer came from https://host (other side closed)' });
});

test.for([
  ['no answer', () => ({ end: 'silent' as const }), {}],
  ['no answer, from a fetch that cannot be cancelled', () => OK, { fetch: () => new Promise<Response>(() => {}) }],
  ['headers that never come', () => OK, { headers: () => new Promise<never>(() => {}) }],
] as const)('%s is aborted after the time-out', async ([, answer, options]) => {
  const begin = performance.now();
  const failure = await failureOf(clientOf(answer, options).ask());
  expect(failure).toBeInstanceOf(NoAnswer);
  expect(failure).toMatchObject({ message: 'no byte came for 30 seconds' });
  expect(performance.now() - begin).toBe(30_000);
});

test('a stalled body is aborted after the time-out, counted from the read', async () => {
  const { ask } = clientOf(() => ({ ...OK, end: 'silent' }), { timeout: 5 });
  const { next } = await ask();
  await next();
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  const begin = performance.now();
  const failure = await failureOf(next());
  expect(failure).toBeInstanceOf(Overloaded);
  expect(failure).toMatchObject({ message: 'no byte came for 5 seconds' });
  expect(performance.now() - begin).toBe(5000);
});

test('a body that ends early', async () => {
  const exchange = await clientOf(() => ({ ...OK, end: 'broken' })).ask();
  const failure = await failureOf(textOf(exchange));
  expect(failure).toBeInstanceOf(TransientFailure);
  expect(failure).not.toBeInstanceOf(Overloaded);
  expect(failure).toMatchObject({ message: 'the connection broke' });
});

test('a cancel ends a request, before its response and during the body', async () => {
  const cancel = new AbortController();
  setTimeout(() => cancel.abort(), 100);
  const failure = await failureOf(clientOf(() => ({ end: 'silent' })).ask(cancel.signal));
  expect(failure).not.toBeInstanceOf(TransientFailure);
  expect(performance.now()).toBeLessThan(1000);
  const later = new AbortController();
  const { next } = await clientOf(() => ({ ...OK, end: 'silent' })).ask(later.signal);
  await next();
  setTimeout(() => later.abort(), 100);
  await expect(next()).rejects.toThrow();
});

test('a request that is already cancelled is not made', async () => {
  const { asked, ask } = clientOf(() => ({ end: 'silent' }));
  await expect(ask(AbortSignal.abort())).rejects.toThrow();
  expect(asked).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a request that is ended is aborted, and leaves no timer', async () => {
  let signal: AbortSignal | null | undefined;
  const fetch = async (_: unknown, init?: RequestInit) => {
    signal = init?.signal;
    return new Response('x');
  };
  const { end } = await clientOf(() => OK, { fetch }).ask();
  end();
  expect(signal?.aborted).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test('an invalid time-out is refused', () => {
  expect(() => clientOf(() => OK, { timeout: -1 })).toThrow(expect.objectContaining({ kind: 'usage' }));
});

test('headers that never settle fail after the time-out', async () => {
  const { asked, ask } = clientOf(() => OK, { headers: () => new Promise(() => {}), timeout: 2 });
  const before = performance.now();
  expect(await failureOf(ask())).toBeInstanceOf(NoAnswer);
  expect(performance.now() - before).toBe(2000);
  expect(asked).toEqual([]);
});

test.for([
  ['an answer', { end: 'silent' as const }, {}, 0],
  ['the next bytes of a body', { ...OK, body: new Uint8Array(2000), end: 'silent' as const }, {}, 2000],
  ['headers of the caller', OK, { headers: () => new Promise<never>(() => {}) }, 0],
] as const)('the server is reported after five seconds, once: %s', async ([, reply, options, length]) => {
  const reported: [number, unknown][] = [];
  const begin = performance.now();
  const retries = new Retries(undefined, (waiting) => reported.push([performance.now() - begin, waiting]));
  const work = async () => {
    const { next, end } = await clientOf(() => reply, { ...options, retries }).ask();
    try {
      expect((await next())?.length).toBe(length);
      await next();
    } finally {
      end();
    }
  };
  expect(await failureOf(work())).toBeInstanceOf(TransientFailure);
  expect(reported).toEqual([
    [5000, { host: 'host', attempt: 0 }],
    [30_000, undefined],
  ]);
  expect(vi.getTimerCount()).toBe(0);
});

test('the reported host is that of the redirect', async () => {
  const reported = vi.fn();
  const answer = ({ url }: Asked): Reply =>
    url.host === 'host' ? { status: 302, headers: { Location: 'https://other:8443/disk' } } : { end: 'silent' };
  await failureOf(clientOf(answer, { retries: new Retries(undefined, reported) }).ask());
  expect(reported.mock.calls).toEqual([[{ host: 'other:8443', attempt: 0 }], [undefined]]);
});

/** A body that brings `sizes` bytes, each after `wait` milliseconds. */
const slowBody = (wait: number, sizes: number[]) =>
  new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, wait));
        const size = sizes.shift();
        if (size === undefined) controller.close();
        else controller.enqueue(new Uint8Array(size));
      },
    },
    { highWaterMark: 0 },
  );

test.for([
  ['enough bytes', [1024, 1024, 1024], []],
  ['too few bytes, then enough', [1, 1, 1022, 1024], [5000, 6000]],
] as const)('%s every two seconds', async ([, sizes, expected]) => {
  const reported: number[] = [];
  const begin = performance.now();
  const retries = new Retries(undefined, () => reported.push(performance.now() - begin));
  const fetch = async () => new Response(slowBody(2000, [...sizes]));
  const { next, end } = await clientOf(() => OK, { fetch, retries }).ask();
  for (let bytes = await next(); bytes; bytes = await next()) retries.received(bytes.length);
  end();
  expect(reported).toEqual(expected);
});

test('time without a read does not count as silence', async () => {
  const reported = vi.fn();
  const retries = new Retries(undefined, reported);
  const { next, end } = await clientOf(() => ({ ...OK, body: new Uint8Array(250_000) }), { retries }).ask();
  for (let bytes = await next(); bytes; bytes = await next())
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  end();
  expect(reported).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});

describe('a body of empty chunks', () => {
  beforeEach(() => void vi.useRealTimers());
  const empty = (): Response =>
    new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(0)) }));
  const ask = async (options: HttpOptions, signal = never) => {
    const client = new HttpClient(
      addressOf('https://host/disk'),
      NODE,
      { fetch: async () => empty(), ...options },
      new Retries(),
    );
    return (await client.request('GET', 'bytes=0-9', signal)).next();
  };

  test('has a time-out', async () => {
    const thrown = await failureOf(ask({ timeout: 0.05 }));
    expect(thrown).toBeInstanceOf(Overloaded);
    expect(thrown).toMatchObject({ message: 'no byte came for 0.05 seconds' });
  });

  test('can be cancelled', async () => {
    expect(await failureOf(ask({}, AbortSignal.timeout(50)))).toBeInstanceOf(TransientFailure);
  });
});

test('a message of a custom fetch is shown without values, which may be secrets', async () => {
  const fetch = () => Promise.reject(new Error('no route to host/disk?sig=SECRET'));
  const { ask } = clientOf(() => OK, { fetch });
  expect(await failureOf(ask())).toMatchObject({
    message: 'no answer came from https://host (no route to host/disk?sig=…)',
  });
});
