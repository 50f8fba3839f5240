// Requests of an upload: retries, time-outs of bodies, and cancels.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { NOT_RESPONSES } from '../../e2e/support/replies.js';
import type { DecantError } from '../errors/errors.js';
import {
  ADDRESS,
  later,
  MIB,
  over,
  PLACE,
  putting,
  type Reply,
  scripted,
  sending,
  spaces,
} from './requests.test-support.js';
import { UploadRequests } from './upload-requests.js';
import { failure, runClock } from './uploads.test-support.js';

beforeEach(() => {
  vi.useFakeTimers();
  // Waits are not jittered.
  vi.spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => void vi.useRealTimers());

test.each([408, 425, 429, 500, 502, 503, 504, 599])('%i is retried', async (status) => {
  const { requests, waits } = over([status, 200]);
  expect(await sending(requests)).toBe('nothing failed');
  expect(waits()).toEqual([250]);
  expect(requests.network).toEqual({ received: 0, sent: 1, retries: 1, silence: 0 });
});

test.each([
  [400, ''],
  [401, '; it requires a user or a token'],
  [403, '; it does not allow this, or the address has expired'],
  [404, '; the address does not exist, or the upload has expired'],
  [410, '; the upload has expired'],
  [412, '; a condition of the request is not met, such as that no object exists yet'],
  [413, '; the file is too large for it'],
  [501, ''],
  [505, ''],
  [507, '; its storage is full'],
])('%i is final', async (status, hint) => {
  const { requests, calls } = over([status]);
  expect(await sending(requests)).toBe(`Could not upload to '${PLACE}': the server answered ${status}${hint}`);
  expect(calls).toHaveLength(1);
  expect(requests.network.sent).toBe(0);
});

test.each(NOT_RESPONSES)('a fetch that resolves to %o is final', async (given) => {
  const { requests, calls } = over([() => given as never]);
  expect(await sending(requests)).toBe(`Could not upload to '${PLACE}': The custom 'fetch' must resolve to a Response`);
  expect(calls).toHaveLength(1);
});

/** A body that begins with an error, and then drips, stalls, breaks or never ends. */
const { origin: ORIGIN } = new URL(PLACE);

const errorBody = (end: string): ReadableStream<Uint8Array> => {
  const first = new TextEncoder().encode('<Error><Code>Denied</Code><Message>No</Message></Error>');
  return new ReadableStream({
    start: (controller) => controller.enqueue(first),
    async pull(controller) {
      if (end === 'stalls') return new Promise(() => {});
      if (end === 'breaks') throw new Error('reset');
      if (end === 'drips') await new Promise((resolve) => setTimeout(resolve, 5000));
      controller.enqueue(new Uint8Array(end === 'drips' ? 1 : 1 << 20).fill(32));
    },
  });
};

test.each([
  'drips',
  'stalls',
  'breaks',
  'never ends',
])('the body of an error that %s does not delay it', async (end) => {
  const { requests, calls } = over([() => new Response(errorBody(end), { status: 403 })], { timeout: 12 });
  const begin = performance.now();
  expect(await sending(requests)).toBe(
    `Could not upload to '${PLACE}': the server answered 403; it does not allow this, or the address has expired (Denied: No)`,
  );
  expect(calls).toHaveLength(1);
  expect(performance.now() - begin).toBe(end === 'drips' || end === 'stalls' ? 12_000 : 0);
});

const ENDPOINT = '<Error><Code>PermanentRedirect</Code><Endpoint>bucket.s3.eu-north-1.test</Endpoint></Error>';

/** The status, the body, the headers, the end of the message and the field `location` of a redirect. */
type Redirect = [number, string, Record<string, string>, string, string | undefined];

test.each<Redirect>([
  ...[301, 302, 303, 307, 308].map(
    (status): Redirect => [
      status,
      '',
      { Location: '/login?secret' },
      ` to ${ORIGIN}/login: use this address`,
      `${ORIGIN}/login`,
    ],
  ),
  [
    307,
    ENDPOINT,
    { Location: 'https://me:secret@b.test/d' },
    ' to https://b.test/d: use this address',
    'https://b.test/d',
  ],
  [301, ENDPOINT, {}, ' to bucket.s3.eu-north-1.test: use this endpoint', 'bucket.s3.eu-north-1.test'],
  [
    301,
    ENDPOINT,
    { 'x-amz-bucket-region': 'eu-north-1' },
    ' to bucket.s3.eu-north-1.test: use this endpoint and the region eu-north-1',
    'bucket.s3.eu-north-1.test',
  ],
  [301, '', {}, ' without an address', undefined],
  [302, '', { Location: 'ftp://host/secret' }, ' without an address', undefined],
  [
    302,
    '',
    { Location: '?again', 'Set-Cookie': 'session=secret' },
    ' to the same address and sets a cookie: pass a Cookie header',
    PLACE,
  ],
])('a redirect by %i with the body %j and %o is final, and not followed', async (status, body, headers, advice, location) => {
  const { requests, calls } = over([() => new Response(body, { status, headers })]);
  const { message, code, fields } = await runClock(requests.send(putting(), [200]).then(String, (thrown) => thrown));
  expect(message).toBe(`Could not upload to '${PLACE}': the server redirects${advice}`);
  expect({ code, fields }).toEqual({
    code: 'redirected',
    fields: { host: new URL(PLACE).host, status, ...(location === undefined ? {} : { location }) },
  });
  expect(calls.map(({ init }) => init.redirect)).toEqual(['manual']);
});

test('a browser hides the address of a redirect', async () => {
  const { requests } = over([() => Object.defineProperty(Response.error(), 'type', { value: 'opaqueredirect' })]);
  expect(await sending(requests)).toMatch(/the server redirects, and the browser hides the address$/);
});

test('a response after a redirect in a browser counts as a redirect', async () => {
  const followed = { redirected: { value: true }, url: { value: 'https://other.test/login?secret' } };
  const { requests } = over([() => Object.defineProperties(new Response('ok'), followed)]);
  expect(await sending(requests)).toMatch(/the server redirects to https:\/\/other\.test\/login: use this address$/);
});

test.each([
  ['<Error><Code>AccessDenied</Code><Message>No such luck\nnor more</Message></Error>', 'AccessDenied: No such luck'],
  ['<Error><Code>AccessDenied</Code></Error>', 'AccessDenied'],
  ['{ "error": { "code": 403, "message": "No access" } }', 'No access'],
  [
    '<Error><Code>AuthFailed</Code><Message>se=2026&sig=SECRET is wrong, as is token = x and key=SECRET</Message></Error>',
    'AuthFailed: se=… is wrong, as is token =… and key=…',
  ],
  [
    '<Error><Message>a &lt;b&gt; &#38; &#x27;c&apos; &amp;lt; &#x110000;</Message></Error>',
    "a <b> & 'c' &lt; &#x110000;",
  ],
  [`<Error><Message>${'a'.repeat(300)}</Message></Error>`, 'a'.repeat(200)],
])("the server's own words are in the message: %s", async (body, words) => {
  const { requests } = over([() => new Response(body, { status: 403 })]);
  expect(await sending(requests)).toMatch(new RegExp(`has expired \\(${words}\\)$`));
});

test.each([
  [403, '<Error><Code>SECRET</Code><Message>Bearer SECRET is not a token</Message></Error>', ''],
  [403, '', 'not SECRET'],
  [206, '', 'not SECRET'],
  [500, '{ "message": "a%20b is expired: SECRET" }', ''],
])('%i with %o: the secrets of the headers are not in the message', async (status, body, statusText) => {
  const headers = { Authorization: 'Bearer SECRET', 'X-Token': 'a b' };
  const { requests } = over([() => new Response(body, { status, statusText })], { headers, patience: 0.1 });
  const make = async () => ({ method: 'PUT', url: PLACE, headers: await requests.headers() });
  const message = await runClock(failure(requests.send(make, [200])));
  expect(message).toContain('…');
  expect(message).not.toMatch(/SECRET|a%20b/);
});

test('400 with RequestTimeout is tried again', async () => {
  const late = () => new Response('<Error><Code>RequestTimeout</Code></Error>', { status: 400 });
  const { requests, calls } = over([late, 200]);
  expect(await sending(requests)).toBe('nothing failed');
  expect(calls).toHaveLength(2);
});

test('waits double up to 15 seconds, and end when patience does', async () => {
  const { requests, waits } = over([200, 503], { patience: 60 });
  await sending(requests);
  expect(await sending(requests)).toMatch(/the server answered 503$/);
  expect(waits().slice(1)).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
});

test('waits are jittered down to a half', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const { requests, waits } = over([503, 503, 200]);
  await sending(requests);
  expect(waits()).toEqual([125, 250]);
});

test.each([
  ['7', 7000],
  ['0', 250],
  [() => new Date(Date.now() + 90_000).toUTCString(), 90_000],
])('Retry-After is obeyed: %s', async (value, wait) => {
  vi.setSystemTime(Date.UTC(2030, 0));
  const header = typeof value === 'string' ? value : value();
  const busy = () => new Response(null, { status: 503, headers: { 'Retry-After': header } });
  const { requests, waits } = over([busy, 200]);
  expect(await sending(requests)).toBe('nothing failed');
  expect(waits()).toEqual([wait]);
});

test('a server that has never answered gets three attempts', async () => {
  const { requests, calls } = over(['drop']);
  expect(await sending(requests)).toBe(
    `Could not upload to '${PLACE}': no answer came from https://cloud.test (the connection broke)`,
  );
  expect(calls).toHaveLength(3);
});

test('a server that has answered is retried until patience ends', async () => {
  const { requests, calls } = over([200, 'drop'], { patience: 20 });
  await sending(requests);
  expect(await sending(requests)).toMatch(/the connection broke/);
  // 0.25, 0.5, 1, 2, 4 and 8 seconds after the first attempt; the next one would be too late.
  expect(calls).toHaveLength(1 + 7);
  expect(requests.network.retries).toBe(6);
});

test('while attempts fail, silence counts from the last response', async () => {
  const { requests } = over([200, 'drop'], { patience: 60 });
  await sending(requests);
  const work = failure(requests.send(putting(), [200]));
  await vi.advanceTimersByTimeAsync(600);
  expect(requests.network).toEqual({ received: 0, sent: 1, retries: 1, silence: 0.6 });
  await runClock(work);
  expect(requests.network.silence).toBe(0);
});

test.each([
  [0, 2],
  [2 * MIB, 4],
  [8 * MIB, 10],
  [9 * MIB, 11],
])('a body of %i bytes may take %i seconds, with 2 seconds of time-out', async (length, seconds) => {
  const { requests, calls } = over(['silent'], { timeout: 2 });
  const work = failure(requests.once(putting(length), [200]));
  await vi.advanceTimersByTimeAsync(seconds * 1000 - 1);
  expect(calls[0]!.init.signal!.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(calls[0]!.init.signal!.aborted).toBe(true);
  expect(await work).toBe(`no answer came within ${seconds} seconds`);
});

test('after a time-out bodies may take twice as long, up to 16 times, until one is fast', async () => {
  const answers = Array<Reply>(6).fill('silent');
  const { requests, waits } = over([200, ...answers, 200, 'silent', 200], { timeout: 1 });
  await sending(requests, 0);
  expect(await sending(requests, 2 * MIB)).toBe('nothing failed');
  const backoffs = [250, 500, 1000, 2000, 4000, 8000];
  const times = waits()
    .slice(1, 7)
    .map((wait, number) => wait - backoffs[number]!);
  expect(times).toEqual([2000, 3000, 5000, 9000, 17_000, 17_000]);
  // It was answered at once.
  const before = performance.now();
  expect(await sending(requests, 2 * MIB)).toBe('nothing failed');
  expect(performance.now() - before).toBe(2000 + 250);
});

test('a network that takes six times as long as expected is waited for', async () => {
  const slow = () => new Promise<Response>((done) => setTimeout(() => done(new Response()), 6 * 4000));
  const { requests, calls } = over([200, slow], { timeout: 1 });
  await sending(requests, 0);
  expect(await sending(requests, 8 * MIB)).toBe('nothing failed');
  // 1 + 4, 1 + 8, 1 + 16 and 1 + 32 seconds.
  expect(calls).toHaveLength(1 + 4);
  // The next one, as slow, has the time at once.
  expect(await sending(requests, 8 * MIB)).toBe('nothing failed');
  expect(calls).toHaveLength(1 + 5);
});

/** A body that gets `pieces`, one each `milliseconds`, and ends unless it `hangs`. */
function trickle(pieces: string[], milliseconds: number, hangs = false): Response {
  const left = [...pieces];
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    await new Promise((done) => setTimeout(done, milliseconds));
    const piece = left.shift();
    if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
    else if (hangs) await new Promise(() => {});
    else controller.close();
  };
  return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
}

test('a response that keeps arriving is waited for', async () => {
  const { requests, calls } = over([() => trickle([' ', ' ', ' ', '<R/>'], 900)], { timeout: 1 });
  const { text } = await runClock(requests.send(putting(), [200]));
  expect(text).toBe('   <R/>');
  expect(calls).toHaveLength(1);
});

test('a response that stops in the middle is retried', async () => {
  const { requests, calls } = over([() => trickle(['<R'], 100, true), () => new Response('<R/>')], { timeout: 1 });
  const { text } = await runClock(requests.send(putting(), [200]));
  expect(text).toBe('<R/>');
  expect(calls).toHaveLength(2);
});

test('characters that are cut between two pieces of an answer are whole', async () => {
  const bytes = new TextEncoder().encode('<Code>ü</Code>');
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const { requests } = over([() => new Response(body, { status: 403 })]);
  expect(await sending(requests)).toMatch(/\(ü\)$/);
});

test('an endless response is not buffered, nor retried', async () => {
  let pieces = 0;
  const endless = () =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull: (controller) => {
          pieces += 1;
          controller.enqueue(new Uint8Array(MIB).fill(97));
        },
      }),
    );
  const { requests, calls } = over([endless]);
  expect(await sending(requests)).toMatch(/: the response of the server does not end$/);
  expect(calls).toHaveLength(1);
  expect(calls[0]!.init.signal!.aborted).toBe(true);
  expect(pieces).toBeLessThanOrEqual(18);
});

test('a call is made for each attempt', async () => {
  const { requests, calls } = over([503, 503, 200]);
  let made = 0;
  const make = async () => {
    made += 1;
    return { method: 'PUT', url: `${PLACE}?signature=${made}` };
  };
  await runClock(requests.send(make, [200]));
  expect(calls.map(({ url }) => url.split('=')[1])).toEqual(['1', '2', '3']);
});

test('a call that fails with a TypeError, as fetch does, is retried', async () => {
  const { requests, calls } = over([200]);
  let failures = 2;
  const make = () => {
    failures -= 1;
    if (failures >= 0) throw new TypeError('Failed to fetch');
    return putting()();
  };
  await runClock(requests.send(make, [200]));
  expect(calls).toHaveLength(1);
  expect(requests.network.retries).toBe(2);
  const broken = () => Promise.reject(new Error('no keys'));
  expect(await runClock(failure(requests.send(broken, [200])))).toBe(`Could not upload to '${PLACE}': no keys`);
  expect(requests.network.retries).toBe(2);
});

test('headers of the caller are requested each time, and sent in lower case', async () => {
  let token = 0;
  const headers = async () => {
    token += 1;
    return { 'X-Token': String(token) };
  };
  const requests = new UploadRequests(ADDRESS, { headers });
  expect([await requests.headers(), await requests.headers()]).toEqual([{ 'x-token': '1' }, { 'x-token': '2' }]);
});

test('a header that cannot be sent is named without its value, before any request', async () => {
  const { requests, calls } = over([200], { headers: { Authorization: 'Basic a\nsecret' } });
  const make = async () => ({ method: 'PUT', url: PLACE, headers: await requests.headers() });
  const failed = await runClock(failure(requests.send(make, [200])));
  expect(failed).toContain("The header 'Authorization' has an invalid character");
  expect(failed).not.toContain('secret');
  expect(calls).toEqual([]);
});

test('the arguments of fetch', async () => {
  const { requests, calls } = over([200], { credentials: 'include' });
  await runClock(requests.send(() => ({ method: 'PUT', url: PLACE, headers: { a: 'b' }, body: 'text' }), [200]));
  const { signal, ...init } = calls[0]!.init;
  expect(signal).toBeInstanceOf(AbortSignal);
  const expected = { method: 'PUT', headers: { a: 'b' }, body: 'text', redirect: 'manual', cache: 'no-store' };
  expect(init).toEqual({ ...expected, credentials: 'include' });
});

test.each([
  ['Node', { duplex: 'half', redirect: 'error', window: null }],
  ['a page', { duplex: 'half', redirect: 'manual' }],
])('what fetch gets for a stream in %s', async (where, expected) => {
  if (where === 'a page') vi.stubGlobal('document', {});
  const { requests, calls } = over([200]);
  const body = new ReadableStream<Uint8Array>();
  await runClock(requests.once(() => ({ method: 'PUT', url: PLACE, body }), [200]));
  vi.unstubAllGlobals();
  const { signal: _, ...init } = calls[0]!.init;
  expect(init).toEqual({ method: 'PUT', headers: {}, body, cache: 'no-store', ...expected });
});

test('an unknown place is not in messages', async () => {
  const requests = new UploadRequests(undefined, { fetch: scripted(403).fetch });
  expect(await sending(requests)).toMatch(/^Could not upload: the server answered 403/);
});

test.each([
  ['timeout', { timeout: -1 }],
  ['patience', { patience: Number.NaN }],
])('%s has to be a number, 0 or more', (name, options) => {
  expect(() => new UploadRequests(ADDRESS, options)).toThrow(
    new RegExp(`^'${name}' must be a number of seconds, 0 or more`),
  );
});

test('the end stops pending requests, even if fetch ignores the signal, and waits', async () => {
  const { requests, calls } = over(['silent']);
  const silent = failure(requests.send(putting(), [200]));
  await vi.advanceTimersByTimeAsync(10);
  requests.stop();
  expect(await silent).not.toBe('nothing failed');
  expect(calls[0]!.init.signal!.aborted).toBe(true);
  const waiting = over([503]);
  const work = failure(waiting.requests.send(putting(), [200]));
  await vi.advanceTimersByTimeAsync(10);
  waiting.requests.stop();
  expect(await work).not.toBe('nothing failed');
  await vi.advanceTimersByTimeAsync(600_000);
  expect(waiting.calls).toHaveLength(1);
});

test.each([
  ['in time', 9000, 'nothing failed'],
  ['too late', 11_000, expect.stringMatching(/cancelled|aborted/)],
])('the request that begins an upload may be answered after the end: %s', async (_, milliseconds, expected) => {
  const { requests, calls } = over([later(milliseconds)]);
  const work = failure(requests.begin(putting(), [201]));
  await vi.advanceTimersByTimeAsync(10);
  requests.stop();
  const before = performance.now();
  expect(await runClock(work)).toEqual(expected);
  expect(performance.now() - before).toBeLessThanOrEqual(10_000);
  expect(calls).toHaveLength(1);
});

test('a request that begins an upload is not retried after the end', async () => {
  const { requests, calls } = over([503, 201]);
  const work = failure(requests.begin(putting(), [201]));
  await vi.advanceTimersByTimeAsync(10);
  requests.stop();
  expect(await runClock(work)).not.toBe('nothing failed');
  expect(calls).toHaveLength(1);
});

const removing = () => ({ method: 'DELETE', url: PLACE });

test.each<[string, Reply[]]>([
  ['status 503', [503, 503, 503, 204]],
  ['a broken connection', ['drop', 'drop', 'drop', 204]],
])('a cloud is asked again to forget an upload: %s', async (_, replies) => {
  const { requests, calls } = over(replies);
  await runClock(requests.remove(removing));
  expect(calls).toHaveLength(4);
});

test.each([200, 202, 204, 404, 410, 499])('%i: the upload is gone', async (status) => {
  expect(await runClock(failure(over([status]).requests.remove(removing)))).toBe('nothing failed');
});

test.each<[string, Reply, number, string, number | undefined]>([
  ['silent', 'silent', 1, 'no answer came within 10 seconds', undefined],
  ['down', 'drop', 6, 'no answer came from https://cloud.test (the connection broke)', undefined],
  ['busy', 503, 6, 'the server answered 503', 503],
  ['unwilling', 403, 1, 'the server answered 403; it does not allow this, or the address has expired', 403],
  ['unable', 405, 1, 'the server answered 405', 405],
])('a cloud that is %s is asked to forget an upload for at most 10 seconds, and what stays is said', async (_, reply, count, reason, status) => {
  const { requests, calls } = over([reply]);
  const before = performance.now();
  const failed = await runClock(
    requests.remove(removing).then(
      () => undefined,
      (thrown: DecantError) => thrown,
    ),
  );
  expect(performance.now() - before).toBeLessThanOrEqual(10_000);
  expect(calls).toHaveLength(count);
  expect(failed).toMatchObject({
    kind: 'target',
    code: 'left-behind',
    fields: { leftAt: PLACE, ...(status === undefined ? {} : { leftStatus: status }) },
  });
  expect(failed!.message).toContain(`the upload stays at '${PLACE}': it could not be removed (${reason}`);
});

test('a response that trickles fails when patience ends', async () => {
  const { requests } = over([() => spaces(2000)]);
  const begin = performance.now();
  expect(await sending(requests)).toContain('no answer came within');
  expect(performance.now() - begin).toBeLessThan(1_300_000);
});

test('a host that never answers fails and is named, though another one has answered', async () => {
  const { fetch: answering } = scripted(200);
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = async (url, init) => {
    asked.push(String(url));
    if (String(url) === PLACE) return answering(url, init);
    throw new TypeError('fetch failed', { cause: new Error('getaddrinfo ENOTFOUND other') });
  };
  const requests = new UploadRequests(ADDRESS, { fetch });
  expect(await sending(requests)).toBe('nothing failed');
  const elsewhere = () => ({ method: 'PATCH', url: 'https://other.test/disk' });
  const reported = await runClock(failure(requests.send(elsewhere, [204])));
  expect(reported).toContain('no answer came from https://other.test (getaddrinfo ENOTFOUND other)');
  expect(asked).toHaveLength(4);
});

test('a request that a proxy refuses is not retried', async () => {
  const { proxyRefusal } = await import('../http/proxy-tunnel.js');
  const { requests, calls } = over([
    () => {
      throw new TypeError('fetch failed', { cause: proxyRefusal(new URL('http://proxy:3128'), 407, 'Who') });
    },
  ]);
  expect(await sending(requests)).toContain('the proxy http://proxy:3128 answered 407 Who; give a user');
  expect(calls).toHaveLength(1);
});

test('a response of empty chunks has a time-out', async () => {
  vi.useRealTimers();
  const body = () => new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(0)) });
  const { requests } = over([() => new Response(body())], { timeout: 0.05, patience: 0 });
  expect(await failure(requests.send(putting(0), [200]))).toContain('no answer came within');
});
