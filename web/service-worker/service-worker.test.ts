/// <reference lib="webworker" />
/// <reference lib="es2024.string" />
// The events of the service worker, and the parts that handle them.

import { beforeEach, expect, test, vi } from 'vitest';

const SCOPE = 'https://decant.test/app/';
const ID = '00000000-0000-4000-8000-000000000000';

class Client {}

let listeners: Record<string, (event: object) => void>;
/** Calls of the service worker to its own scope. */
let done: string[];
/** The URLs that it has fetched. */
let fetched: string[];

beforeEach(async () => {
  listeners = {};
  done = [];
  fetched = [];
  vi.stubGlobal('self', {
    registration: { scope: SCOPE },
    clients: { claim: async () => done.push('claim'), matchAll: async () => [] },
    skipWaiting: async () => done.push('skipWaiting'),
    addEventListener: (name: string, listener: (event: object) => void) => {
      listeners[name] = listener;
    },
  });
  vi.stubGlobal('Client', Client);
  vi.stubGlobal('caches', { match: async () => undefined, keys: async () => [] });
  vi.stubGlobal('fetch', async (input: string | { url: string }) => {
    fetched.push(typeof input === 'string' ? input : input.url);
    return new Response('', { status: 404 });
  });
  vi.resetModules();
  await import('./service-worker.js');
});

/** Fires an event and waits until nothing keeps the service worker alive. Returns the response, if any. */
async function fire(name: string, event: object): Promise<Response | undefined> {
  const work: Promise<unknown>[] = [];
  let response: Response | Promise<Response> | undefined;
  const respondWith = (given: Response | Promise<Response>) => {
    response = given;
  };
  listeners[name]!({ ...event, waitUntil: (given: Promise<unknown>) => work.push(given), respondWith });
  await Promise.all(work);
  return response;
}

test('a service worker that becomes active takes over open pages', async () => {
  await fire('activate', {});
  expect(done).toEqual(['claim']);
});

test('"take over" makes a new service worker active', async () => {
  await fire('message', { data: 'take over' });
  expect(done).toEqual(['skipWaiting']);
});

test('"keep" loads the newest build, and ignores a failure', async () => {
  await fire('message', { data: 'keep' });
  expect(fetched).toEqual([`${SCOPE}build.json`]);
});

test('any other message goes to the downloads', async () => {
  const answered: unknown[] = [];
  const port = { postMessage: (message: unknown) => answered.push(message) };
  await fire('message', { data: { ask: 'alive', id: ID }, ports: [port], source: new Client() });
  expect(answered).toEqual([false]);
  expect([done, fetched]).toEqual([[], []]);
});

// (path, mode of the request, fetched paths, whether it is answered here)
for (const [path, mode, from, isAnswered] of [
  [`download/${ID}`, 'navigate', [], true],
  ['', 'navigate', ['build.json', ''], true],
  ['assets/app.js', 'cors', ['assets/app.js'], true],
  ['download/file.js', 'cors', [], false],
  ['service-worker.js', 'cors', [], false],
] as const) {
  test(`a request for ${path || 'the page'} is ${isAnswered ? 'answered here' : 'left to the browser'}`, async () => {
    const response = await fire('fetch', { request: { url: SCOPE + path, mode, method: 'GET' } });
    expect(response?.status).toBe(isAnswered ? 404 : undefined);
    expect(fetched).toEqual(from.map((each) => SCOPE + each));
  });
}
