import { beforeEach, expect, test, vi } from 'vitest';

const NAMES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'];

beforeEach(() => {
  vi.resetModules();
  vi.unstubAllEnvs();
  for (const name of NAMES) vi.stubEnv(name, undefined);
});

/** The dispatcher for the environment's proxies, as in a new process. */
const environmentFetch = async () => (await import('./proxy-fetch.js')).environmentFetch();

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
  // It is looked up once.
  expect(await (await import('./proxy-fetch.js')).environmentFetch()).toBe(proxied);
});
