// When the service worker is registered, replaced and removed.

import { beforeEach, expect, test, vi } from 'vitest';
import { FakeCaches } from './fake-caches.test-support.js';
import { DOWNLOADING } from './page-messages.js';
import { registerServiceWorker } from './register.js';

const SCOPE = 'https://decant.test/app/';

class FakeWorker {
  readonly received: unknown[] = [];

  postMessage(message: unknown): void {
    this.received.push(message);
  }
}

interface Registration {
  scope: string;
  active: FakeWorker;
  waiting: FakeWorker | null;
  unregister: () => Promise<boolean>;
}

let registration: Registration;
/** The state of the browser when the page is opened. */
let known: Registration | undefined;
/** The scripts that were registered. */
let registered: string[];
let isRemoved: boolean;
/** The names of the Web Locks that tabs hold. */
let locks: string[];
/** The server's answer to a request for the script. */
let serve: () => Response;
let caches: FakeCaches;

beforeEach(async () => {
  isRemoved = false;
  registered = [];
  locks = [];
  const unregister = async () => {
    isRemoved = true;
    return true;
  };
  registration = { scope: SCOPE, active: new FakeWorker(), waiting: null, unregister };
  known = registration;
  serve = () => new Response('', { headers: { 'Content-Type': 'text/javascript' } });
  caches = new FakeCaches();
  for (const name of [`decant ${SCOPE} current`, `decant ${SCOPE} a 1`, 'decant https://decant.test/ a 1', 'another'])
    await caches.open(name);
  const serviceWorker = {
    ready: Promise.resolve(registration),
    getRegistration: async () => known,
    register: async (script: string) => {
      registered.push(script);
      return registration;
    },
  };
  const query = async () => ({ held: locks.map((name) => ({ name })) });
  vi.stubGlobal('navigator', { serviceWorker, locks: { query } });
  vi.stubGlobal('document', { baseURI: `${SCOPE}index.html?x=1` });
  vi.stubGlobal('caches', caches);
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    expect([url, init]).toEqual(['./service-worker.js', { cache: 'no-store' }]);
    return serve();
  });
});

test('a page is kept from the first visit on', async () => {
  known = undefined;
  await registerServiceWorker();
  expect(registered).toEqual(['./service-worker.js']);
  expect(registration.active.received).toEqual(['keep']);
});

const redirectedTo = (response: Response) => Object.defineProperty(response, 'redirected', { value: true });
const html = { 'Content-Type': 'text/html; charset=utf-8' };

// (case, the server's answer, whether the service worker stays)
for (const [what, answer, stays] of [
  ['the script', () => new Response('', { headers: { 'Content-Type': 'text/javascript' } }), true],
  [
    'the script, as another type of JavaScript',
    () => new Response('', { headers: { 'Content-Type': 'application/javascript' } }),
    true,
  ],
  ['404', () => new Response('', { status: 404, headers: html }), false],
  ['410', () => new Response('', { status: 410 }), false],
  ['a page instead, such as a login', () => new Response('', { headers: html }), true],
  ['a page instead, after a redirect', () => redirectedTo(new Response('', { headers: html })), true],
  ['a file without a type', () => new Response(new Uint8Array()), true],
  ['401', () => new Response('', { status: 401, headers: html }), true],
  ['403', () => new Response('', { status: 403, headers: html }), true],
  ['500', () => new Response('', { status: 500, headers: html }), true],
  ['503', () => new Response('', { status: 503, headers: html }), true],
  ['nothing, since it cannot be reached', () => Promise.reject(new TypeError('Failed to fetch')), true],
] as const) {
  test(`a server that answers ${what}: the service worker ${stays ? 'stays' : 'and the kept page are removed'}`, async () => {
    serve = answer as () => Response;
    await registerServiceWorker();
    expect(isRemoved).toBe(!stays);
    expect(registered).toEqual(stays ? ['./service-worker.js'] : []);
    const others = ['decant https://decant.test/ a 1', 'another'];
    expect(await caches.keys()).toEqual(stays ? [`decant ${SCOPE} current`, `decant ${SCOPE} a 1`, ...others] : others);
  });
}

test('the service worker of a folder above is left alone', async () => {
  known = { ...registration, scope: 'https://decant.test/' };
  serve = () => new Response('', { status: 404 });
  await registerServiceWorker();
  expect(isRemoved).toBe(false);
  expect(registered).toEqual(['./service-worker.js']);
});

// (case, held locks, whether the new one takes over)
for (const [when, held, takesOver] of [
  ['when no tab holds a lock', [], true],
  ['while a tab holds another lock', ['another'], true],
  ['while a tab streams a download', ['another', DOWNLOADING], false],
] as const) {
  test(`a new service worker ${takesOver ? 'takes over' : 'waits'} ${when}`, async () => {
    registration.waiting = new FakeWorker();
    locks = [...held];
    await registerServiceWorker();
    expect(registration.waiting.received).toEqual(takesOver ? ['take over'] : []);
  });
}

test('a window without service workers is reported', async () => {
  vi.stubGlobal('navigator', {});
  await expect(registerServiceWorker()).rejects.toThrow(TypeError);
});
