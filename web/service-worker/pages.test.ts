/// <reference lib="webworker" />
// The page that is kept for offline use: how requests are answered, and which builds are kept.

import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { FakeCaches } from './fake-caches.test-support.js';

const SCOPE = 'https://decant.test/app/';
const PREFIX = `decant ${SCOPE} `;
const CURRENT = `${PREFIX}current`;

/** Texts by their paths, relative to the scope. */
type Files = Record<string, string>;

let pages: typeof import('./pages.js');
let caches: FakeCaches;
/** The files on the server; `undefined` if the server cannot be reached. */
let server: Files | undefined;
/** The headers of all answers of the server. */
let headers: Record<string, string>;
/** The server does not answer before this. */
let answering: Promise<void>;
/** The requested paths, with the cache modes of the requests. */
let asked: string[];
/** The URLs of open windows. */
let windows: string[];

const digestOf = (text: string) => `sha256-${createHash('sha256').update(text).digest('base64')}`;

/** A build. The page and one file have the same names in all builds, the other file has a different one. */
function buildOf(mark: string): Files {
  const files: Files = { './': `page ${mark}`, [`assets/${mark}.js`]: `script ${mark}`, 'assets/same.wasm': 'wasm' };
  const digests = Object.fromEntries(Object.entries(files).map(([path, text]) => [path, digestOf(text)]));
  return { ...files, 'build.json': JSON.stringify({ id: mark, files: digests }) };
}

const [A, B] = [buildOf('a'), buildOf('b')];

async function fetchFromServer(input: string | Request, init: RequestInit = {}): Promise<Response> {
  const url = typeof input === 'string' ? input : input.url;
  const path = url.replace(/(index\.html|\?.*)$/, '').slice(SCOPE.length) || './';
  asked.push(init.cache ? `${path} ${init.cache}` : path);
  const aborted = new Promise<never>((_, reject) => {
    init.signal?.addEventListener('abort', () => reject(init.signal!.reason));
  });
  await Promise.race([answering, aborted]);
  if (!server) throw new TypeError('Failed to fetch');
  const text = server[path];
  if (text === undefined) return new Response(null, { status: 404 });
  if (init.integrity && init.integrity !== digestOf(text)) throw new TypeError('Failed to fetch');
  return new Response(text, { headers });
}

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  caches = new FakeCaches();
  server = A;
  headers = {};
  answering = Promise.resolve();
  asked = [];
  windows = [];
  const matchAll = async () => windows.map((url) => ({ url }));
  vi.stubGlobal('self', { registration: { scope: SCOPE }, clients: { matchAll } });
  vi.stubGlobal('caches', caches);
  vi.stubGlobal('fetch', fetchFromServer);
  vi.resetModules();
  pages = await import('./pages.js');
  return () => vi.useRealTimers();
});

/** The answer of the service worker. `text` is `undefined` if the request is left to the browser. */
function answer(path: string, mode = 'navigate', method = 'GET') {
  let response: Promise<Response> | undefined;
  const work: Promise<unknown>[] = [];
  const event = {
    request: { url: new URL(path, SCOPE).href, mode, method },
    respondWith: (given: Promise<Response>) => {
      response = given;
    },
    waitUntil: (given: Promise<unknown>) => work.push(given),
  };
  pages.answerPage(event as unknown as FetchEvent);
  return { text: response?.then((response) => response.text()), done: () => Promise.all(work) };
}

/** Opens the page and waits for all later work. Returns its text. */
async function open(path = ''): Promise<string> {
  const { text, done } = answer(path);
  await done();
  return text!;
}

const file = (path: string): Promise<string> => answer(path, 'no-cors').text!;

/** The marks of builds that are kept completely or partly. */
const kept = async () =>
  (await caches.keys())
    .filter((name) => name.startsWith(PREFIX) && name !== CURRENT)
    .map((name) => name[PREFIX.length]);

describe('a build', () => {
  test('is kept completely, and then the page opens without a server', async () => {
    await pages.keepNewest();
    expect(asked).toEqual(['build.json no-cache', './ reload', 'assets/a.js no-cache', 'assets/same.wasm no-cache']);
    server = undefined;
    expect(await open()).toBe('page a');
    expect(await file('assets/a.js')).toBe('script a');
    expect(await file('assets/same.wasm')).toBe('wasm');
  });

  test('that is kept already is not loaded again', async () => {
    await pages.keepNewest();
    asked = [];
    await pages.keepNewest();
    expect(asked).toEqual(['build.json no-cache', './ reload']);
    expect(await kept()).toEqual(['a']);
  });

  test('is loaded once by concurrent attempts, and again after a failure', async () => {
    server = undefined;
    const attempts = [pages.keepNewest(), pages.keepNewest()];
    for (const attempt of attempts) await expect(attempt).rejects.toThrow('Failed to fetch');
    expect(asked).toEqual(['build.json no-cache']);
    server = A;
    await Promise.all([pages.keepNewest(), pages.keepNewest()]);
    expect(asked.filter((each) => each.startsWith('build.json'))).toHaveLength(2);
    expect(await kept()).toEqual(['a']);
  });

  const { 'build.json': _, ...unlisted } = B;
  const { 'assets/b.js': __, ...lacking } = B;
  for (const [how, broken] of [
    ['lacks a file', lacking],
    ['has a file of another build', { ...B, 'assets/b.js': 'another' }],
    ['has the page of another build', { ...B, './': 'another' }],
    ['has no list', unlisted],
    ['has a page for a list', { ...B, 'build.json': '<!doctype html>' }],
  ] as const) {
    test(`that ${how} changes nothing, and is kept when it is complete`, async () => {
      await pages.keepNewest();
      server = broken as Files;
      await expect(pages.keepNewest()).rejects.toThrow();
      expect(await open()).toBe('page a');
      server = undefined;
      expect(await open()).toBe('page a');
      expect(await file('assets/a.js')).toBe('script a');
      server = B;
      asked = [];
      expect(await open()).toBe('page b');
      expect(asked).toContain('build.json no-cache');
    });
  }

  test('that was partly loaded before is completed', async () => {
    server = lacking as Files;
    await expect(pages.keepNewest()).rejects.toThrow('assets/b.js is not there (404)');
    // The existing files are still fetched.
    await vi.advanceTimersByTimeAsync(0);
    server = B;
    asked = [];
    await pages.keepNewest();
    expect(asked).toEqual(['build.json no-cache', './ reload', 'assets/b.js no-cache']);
  });

  test('that a server redirects to is not kept', async () => {
    vi.stubGlobal('fetch', async (url: string, init?: RequestInit) =>
      Object.defineProperty(await fetchFromServer(url, init), 'redirected', { value: url === SCOPE }),
    );
    await expect(pages.keepNewest()).rejects.toThrow(`${SCOPE} is not there`);
    expect(await kept()).toEqual([]);
  });

  for (const name of [
    'Content-Security-Policy',
    'Cross-Origin-Opener-Policy',
    'Cross-Origin-Embedder-Policy',
    'Document-Isolation-Policy',
  ]) {
    test(`whose ${name} has changed is loaded again`, async () => {
      headers = { [name]: 'wrong' };
      await pages.keepNewest();
      headers = { [name]: 'right' };
      asked = [];
      await pages.keepNewest();
      expect(asked).toEqual(['build.json no-cache', './ reload', 'assets/a.js reload', 'assets/same.wasm reload']);
      expect(await kept()).toEqual(['a', 'a']);
      server = undefined;
      // The file comes first: opening the page removes the old build.
      for (const [path, mode] of [
        ['assets/same.wasm', 'no-cors'],
        ['', 'navigate'],
      ] as const) {
        let response: Response | undefined;
        const respondWith = async (given: Promise<Response>) => {
          response = await given;
        };
        const event = { request: { url: SCOPE + path, mode, method: 'GET' }, respondWith, waitUntil: () => {} };
        pages.answerPage(event as unknown as FetchEvent);
        await expect.poll(() => response?.headers.get(name)).toBe('right');
      }
    });
  }

  test('whose other headers have changed stays', async () => {
    await pages.keepNewest();
    headers = { 'X-Served-By': 'another' };
    await pages.keepNewest();
    expect(await kept()).toEqual(['a']);
  });

  test('whose list never arrives fails after a minute, and is tried again', async () => {
    const limits: { time: number; controller: AbortController }[] = [];
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((time) => {
      const controller = new AbortController();
      limits.push({ time, controller });
      return controller.signal;
    });
    answering = new Promise(() => {});
    const attempt = pages.keepNewest();
    expect(limits.map(({ time }) => time)).toEqual([60_000]);
    limits[0]!.controller.abort(new DOMException('late', 'TimeoutError'));
    await expect(attempt).rejects.toThrow('late');
    answering = Promise.resolve();
    await pages.keepNewest();
    expect(await kept()).toEqual(['a']);
    // Every file has the limit.
    expect(limits.map(({ time }) => time)).toEqual(Array(5).fill(60_000));
  });

  test('that an earlier version has kept without the name of its cache is not used but kept again', async () => {
    const old = await caches.open(`${PREFIX}old`);
    await old.put(SCOPE, new Response('page old'));
    await (await caches.open(CURRENT)).put(`${SCOPE}build.json`, Response.json({ id: 'old', files: {} }));
    const { 'build.json': list, ...rest } = A;
    server = rest;
    windows = [SCOPE];
    expect(await open()).toBe('page a');
    server = { ...rest, 'build.json': list! };
    await pages.keepNewest();
    server = undefined;
    windows = [];
    expect(await open()).toBe('page a');
    expect(await kept()).toEqual(['a']);
  });
});

describe('a request', () => {
  // (path, mode, method, answer)
  for (const [path, mode, method, from] of [
    ['', 'navigate', 'GET', 'page a'],
    ['index.html', 'navigate', 'GET', 'page a'],
    ['?from=link', 'navigate', 'GET', 'page a'],
    ['assets/a.js', 'cors', 'GET', 'script a'],
    ['assets/a.js', 'navigate', 'GET', 'script a'],
    ['', 'navigate', 'POST', undefined],
    ['', 'no-cors', 'GET', undefined],
    ['build.json', 'cors', 'GET', undefined],
    ['LICENSE.txt', 'navigate', 'GET', undefined],
    ['assets/a.js', 'cors', 'HEAD', undefined],
    ['/assets/a.js', 'cors', 'GET', undefined],
    ['/', 'navigate', 'GET', undefined],
    ['https://elsewhere.test/app/assets/a.js', 'cors', 'GET', undefined],
    ['https://elsewhere.test/app/', 'navigate', 'GET', undefined],
  ] as const) {
    test(`${method} ${path || 'the scope'} (${mode}) is ${from ? `answered with ${from}` : 'left to the browser'}`, async () => {
      await pages.keepNewest();
      server = undefined;
      expect(await answer(path, mode, method).text).toBe(from);
    });
  }

  test('for a file that is not kept goes to the server', async () => {
    expect(await file('assets/a.js')).toBe('script a');
    expect(asked).toEqual(['assets/a.js']);
    await pages.keepNewest();
    asked = [];
    await file('assets/a.js');
    expect(asked).toEqual([]);
  });

  test('for a file of an older build is answered from that build, whatever was deployed since', async () => {
    await pages.keepNewest();
    server = B;
    await pages.keepNewest();
    expect(await file('assets/a.js')).toBe('script a');
    expect(await file('assets/b.js')).toBe('script b');
    expect(await open()).toBe('page b');
  });

  for (const [what, request, text] of [
    ['the page', () => open(), 'page a'],
    ['a file', () => file('assets/a.js'), 'script a'],
  ] as const) {
    test(`for ${what} goes to the server if caches fail`, async () => {
      const fail = () => Promise.reject(new DOMException('damaged', 'UnknownError'));
      vi.stubGlobal('caches', { match: fail, open: fail, keys: fail, delete: fail });
      expect(await request()).toBe(text);
    });
  }

  test('for the page fails if nothing is kept and no server answers', async () => {
    server = undefined;
    await expect(open()).rejects.toThrow('Failed to fetch');
  });

  test('for the page waits 5 s for a newer build, which is also kept after that', async () => {
    await pages.keepNewest();
    server = B;
    let release = () => {};
    answering = new Promise((resolve) => {
      release = resolve;
    });
    const shown = vi.fn();
    const { text, done } = answer('');
    text!.then(shown, expect.fail);
    await vi.advanceTimersByTimeAsync(4999);
    expect(shown).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(shown).toHaveBeenCalledWith('page a');
    release();
    await done();
    server = undefined;
    expect(await open()).toBe('page b');
  });
});

describe('an old build', () => {
  /** Keeps A, then B, and opens the page while these windows are open. Returns the remaining builds. */
  async function leftWith(open_: string[]): Promise<unknown[]> {
    await caches.open('another page');
    await caches.open(`decant https://decant.test/ a 1`);
    await pages.keepNewest();
    server = B;
    await pages.keepNewest();
    windows = open_;
    await open();
    expect(await caches.keys()).toEqual(
      expect.arrayContaining(['another page', 'decant https://decant.test/ a 1', CURRENT]),
    );
    return kept();
  }

  for (const [when, windows, left] of [
    ['is removed when no window is open', [], ['b']],
    ['is removed when only other pages are open', ['https://decant.test/', 'https://decant.test/blank'], ['b']],
    ['stays while the page is open', [SCOPE], ['a', 'b']],
    ['stays while the page is open under another URL', [`${SCOPE}index.html#x`], ['a', 'b']],
  ] as const) {
    test(when, async () => {
      expect(await leftWith([...windows])).toEqual(left);
    });
  }

  test('whose page was served last stays until another one is served, even if no window is listed', async () => {
    await pages.keepNewest();
    // The kept build is served after 5 s.
    server = B;
    let release = () => {};
    answering = new Promise((resolve) => {
      release = resolve;
    });
    const { text, done } = answer('');
    await vi.advanceTimersByTimeAsync(5000);
    expect(await text).toBe('page a');
    release();
    await done();
    expect(await open()).toBe('page b');
    expect(await kept()).toEqual(['a', 'b']);
    expect(await open()).toBe('page b');
    expect(await kept()).toEqual(['b']);
  });
});
