// Streamed downloads, the page's side: how one begins, how long a page waits for its service worker and its browser,
// and what is left when it does not begin. `../service-worker/downloads.test.ts` has both sides together.

import { beforeEach, expect, test, vi } from 'vitest';
import { FakePage, type Received } from '../../e2e/support/units/fake-page.js';
import { type Ask, PLACE, VERSION } from './messages.js';
import { DOWNLOADING, openStreamedDownload, streamObstacle } from './streamed.js';

let page: FakePage;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  page = new FakePage();
  page.hear = answerWith({});
  stubGlobals(page.globals);
  return () => vi.useRealTimers();
});

function stubGlobals(globals: object): void {
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
}

/** A service worker that gives these answers. With `silent` it does not answer that question. */
const answerWith =
  ({ version = VERSION, alive = true, silent = 'none' }) =>
  ({ data, ports: [port] }: Received) => {
    const { ask } = data as Ask;
    if (ask !== silent) port!.postMessage({ version, alive, download: { ready: true } }[ask]);
  };

/** How `promise` settles: `undefined` while it does not. */
function outcomeOf(promise: Promise<unknown>): () => string | undefined {
  let outcome: string | undefined;
  promise.then(
    () => {
      outcome = 'begun';
    },
    (error: Error) => {
      outcome = error.name === 'Error' ? error.message : error.name;
    },
  );
  return () => outcome;
}

const expectNothingLeft = () => {
  expect([...page.frames]).toEqual([]);
  expect([...page.locks]).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
};

const { navigator } = new FakePage().globals;
const never = new Promise<never>(() => {});
const NOT_READY = 'the service worker of this page is not ready yet; reload the page and try again';

// (what the page has, its service worker, milliseconds until it gives up, why)
for (const { name, globals, hear = answerWith({}), after = 0, reason } of [
  {
    name: 'an insecure page',
    globals: { isSecureContext: false },
    reason: 'the page was not loaded over https, so this browser does not let it stream a download',
  },
  {
    name: 'a browser without service workers',
    globals: { navigator: { ...navigator, serviceWorker: undefined } },
    reason: 'this browser, or this private window, does not let the page stream a download',
  },
  {
    name: 'a service worker that never becomes active',
    globals: { navigator: { ...navigator, serviceWorker: { ready: never } } },
    after: 5000,
    reason: NOT_READY,
  },
  {
    name: 'a service worker that does not answer',
    hear: answerWith({ silent: 'version' }),
    after: 5000,
    reason: NOT_READY,
  },
  {
    name: 'a service worker of another version',
    hear: answerWith({ version: VERSION + 1 }),
    reason: 'another version of this page is still open; close its other tabs, reload this one and try again',
  },
]) {
  test(`${name} is an obstacle, and no download begins`, async () => {
    stubGlobals(globals ?? {});
    page.hear = hear;
    const obstacle = streamObstacle();
    const opening = outcomeOf(openStreamedDownload('disk.raw', 1));
    if (after > 0) await vi.advanceTimersByTimeAsync(after - 1);
    if (after > 0) expect(opening()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(after > 0 ? 1 : 0);
    expect(opening()).toBe(reason);
    expect(await obstacle).toBe(reason);
    expectNothingLeft();
  });
}

test('without an obstacle there is none', async () => {
  expect(await streamObstacle()).toBeUndefined();
  expectNothingLeft();
});

// (what does not happen, milliseconds until the page gives up, why)
for (const [name, silent, after, reason] of [
  ['a service worker that does not take it', 'download', 5000, NOT_READY],
  ['a browser that does not request it', 'none', 20_000, 'the browser did not start the download'],
] as const) {
  test(`a download does not begin because of ${name}`, async () => {
    page.hear = answerWith({ silent });
    const opening = outcomeOf(openStreamedDownload('disk.raw', 1));
    await vi.advanceTimersByTimeAsync(after - 1);
    expect(opening()).toBeUndefined();
    expect(page.frames.size).toBe(1);
    expect([...page.locks]).toEqual([DOWNLOADING]);
    await vi.advanceTimersByTimeAsync(1);
    expect(opening()).toBe(reason);
    await vi.advanceTimersByTimeAsync(0);
    expectNothingLeft();
  });
}

test('a download whose service worker ends before the browser requests it does not begin', async () => {
  page.hear = answerWith({ alive: false });
  const opening = outcomeOf(openStreamedDownload('disk.raw', 1));
  await vi.advanceTimersByTimeAsync(4999);
  expect(opening()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(opening()).toBe('the browser did not start the download');
});

for (const when of [
  'before it',
  'while the service worker is asked for its version',
  'while the service worker takes it',
  'while the browser is waited for',
] as const) {
  test(`a beginning that is aborted ${when} ends at once and leaves nothing`, async () => {
    const cancel = new AbortController();
    const addresses: string[] = [];
    page.onnavigate = (address) => addresses.push(address);
    if (when === 'before it') cancel.abort();
    if (when.endsWith('version')) page.hear = answerWith({ silent: 'version' });
    if (when.endsWith('takes it')) page.hear = answerWith({ silent: 'download' });
    const opening = outcomeOf(openStreamedDownload('disk.raw', 1, cancel.signal));
    await vi.advanceTimersByTimeAsync(1000);
    expect(opening()).toBe(when === 'before it' ? 'AbortError' : undefined);
    expect(addresses).toHaveLength(when.endsWith('waited for') ? 1 : 0);
    cancel.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(opening()).toBe('AbortError');
    // The question for the version may still wait for its answer, and nobody waits for that.
    await vi.advanceTimersByTimeAsync(5000);
    expectNothingLeft();
  });
}

test('the address of a download lies below the scope, and is another one each time', async () => {
  const addresses: string[] = [];
  page.onnavigate = (address) => addresses.push(address);
  for (const _ of [1, 2]) outcomeOf(openStreamedDownload('disk.raw', 1));
  await vi.advanceTimersByTimeAsync(0);
  expect(new Set(addresses).size).toBe(2);
  for (const address of addresses)
    expect(address).toMatch(new RegExp(`^https://decant\\.test/app/${PLACE}[0-9a-f-]{36}$`));
});

test('a page that is denied locks streams all the same', async () => {
  const locks = { request: () => Promise.reject(new DOMException('denied', 'SecurityError')) };
  vi.stubGlobal('navigator', { ...page.globals.navigator, locks });
  let requested = false;
  page.onnavigate = () => {
    requested = true;
  };
  outcomeOf(openStreamedDownload('disk.raw', 1));
  await vi.advanceTimersByTimeAsync(0);
  expect(requested).toBe(true);
});
