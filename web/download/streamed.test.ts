// Streamed downloads, the page's side: the start, the time-outs for the service worker and the browser, and a clean end if
// the download does not start. `../service-worker/downloads.test.ts` has both sides together.

import { beforeEach, expect, test, vi } from 'vitest';
import { FakePage, type Received } from '../service-worker/fake-page.test-support.js';
import { type Ask, DOWNLOADING, DOWNLOADS, VERSION } from '../service-worker/page-messages.js';
import { openStreamedDownload } from './streamed.js';
import { streamObstacle } from './streaming-worker.js';

let page: FakePage;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  page = new FakePage();
  page.onmessage = answerWith({});
  stubGlobals(page.globals);
  return () => vi.useRealTimers();
});

function stubGlobals(globals: object): void {
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
}

/** A service worker with these answers. It does not answer the question `silent`. */
const answerWith =
  ({ version = VERSION, alive = true, silent = 'none' }) =>
  ({ data, ports: [port] }: Received) => {
    const { ask } = data as Ask;
    if (ask !== silent) port!.postMessage({ version, alive, download: { ready: true } }[ask]);
  };

/** Returns how `promise` has settled; `undefined` while it is pending. */
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

// (globals of the page, its service worker, milliseconds until the time-out, reason)
for (const { name, globals, onmessage = answerWith({}), after = 0, reason } of [
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
    onmessage: answerWith({ silent: 'version' }),
    after: 5000,
    reason: NOT_READY,
  },
  {
    name: 'a service worker with another version',
    onmessage: answerWith({ version: VERSION + 1 }),
    reason: 'another version of this page is still open; close its other tabs, reload this one and try again',
  },
]) {
  test(`${name} is an obstacle, and no download starts`, async () => {
    stubGlobals(globals ?? {});
    page.onmessage = onmessage;
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

test('there may be no obstacle', async () => {
  expect(await streamObstacle()).toBeUndefined();
  expectNothingLeft();
});

// (case, unanswered question, milliseconds until the time-out, reason)
for (const [name, silent, after, reason] of [
  ['a service worker that does not accept it', 'download', 5000, NOT_READY],
  ['a browser that does not request it', 'none', 20_000, 'the browser did not start the download'],
] as const) {
  test(`a download does not start because of ${name}`, async () => {
    page.onmessage = answerWith({ silent });
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

test('a download whose service worker ends before the browser requests it does not start', async () => {
  page.onmessage = answerWith({ alive: false });
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
  test(`a start that is aborted ${when} ends at once and leaves nothing`, async () => {
    const cancel = new AbortController();
    const addresses: string[] = [];
    page.onnavigate = (address) => addresses.push(address);
    if (when === 'before it') cancel.abort();
    if (when.endsWith('version')) page.onmessage = answerWith({ silent: 'version' });
    if (when.endsWith('takes it')) page.onmessage = answerWith({ silent: 'download' });
    const opening = outcomeOf(openStreamedDownload('disk.raw', 1, cancel.signal));
    await vi.advanceTimersByTimeAsync(1000);
    expect(opening()).toBe(when === 'before it' ? 'AbortError' : undefined);
    expect(addresses).toHaveLength(when.endsWith('waited for') ? 1 : 0);
    cancel.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(opening()).toBe('AbortError');
    // The question for the version may still be pending, but nothing depends on it.
    await vi.advanceTimersByTimeAsync(5000);
    expectNothingLeft();
  });
}

test('the URL of a download is below the scope and different each time', async () => {
  const addresses: string[] = [];
  page.onnavigate = (address) => addresses.push(address);
  for (const _ of [1, 2]) outcomeOf(openStreamedDownload('disk.raw', 1));
  await vi.advanceTimersByTimeAsync(0);
  expect(new Set(addresses).size).toBe(2);
  for (const address of addresses)
    expect(address).toMatch(new RegExp(`^https://decant\\.test/app/${DOWNLOADS}[0-9a-f-]{36}$`));
});

test('a page that is denied locks can stream', async () => {
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
