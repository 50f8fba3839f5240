// The page kept for offline use, in private windows and in a profile: it works without its server, and
// never mixes two builds.

import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrowserContext, chromium, type Page } from '@playwright/test';
import { build, preview } from 'vite';
import { test as base, expect } from '../support/browser.js';
import { openFolds } from '../support/folds.js';
import { hashFile, images } from '../support/images.js';
import { choose } from '../support/page.js';
import { startServer, type TestServer } from '../support/server.js';
import { watchUnhandled } from '../support/unhandled.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const HEADING = 'Drop a disk image';

const FULL = '@full';

/** Makes a build whose page and workers contain `mark`. */
async function makeBuild(folder: string, mark: string): Promise<void> {
  const marked = (place: RegExp, change: (code: string) => string) => ({
    name: 'mark',
    transform: (code: string, id: string) => (place.test(id) ? change(code) : undefined),
  });
  await build({
    configFile: join(root, 'web', 'vite.config.ts'),
    root: join(root, 'web'),
    logLevel: 'warn',
    plugins: [marked(/dist\/(element|texts)[\w.]*\.js$/, (code) => code.replaceAll(HEADING, `${HEADING} (${mark})`))],
    worker: { plugins: () => [marked(/dist\/worker\.js$/, (code) => `${code}\nglobalThis.mark = '${mark}';`)] },
    build: { outDir: folder, emptyOutDir: true },
  });
}

/** Comes before the service worker's script: it waits for a newer build as long as that takes. */
const PATIENT = 'self.setTimeout = () => 0;';

/** Puts `more` before the service worker's script. */
const beforeScript = (more: string) => (path: string, script: string) =>
  path.endsWith('/service-worker.js') ? PATIENT + more + script : script;

interface Fixtures {
  mode: 'private' | 'profile';
  /** Where the page is on its server. */
  base: string;
  /** A separate server, which a test may stop or give another build. */
  server: TestServer;
  context: BrowserContext;
}

const test = base.extend<Fixtures, { builds: { a: string; b: string } }>({
  mode: ['private', { option: true }],
  base: ['/', { option: true }],

  builds: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
    async ({}, use) => {
      const folder = join(root, '.cache', `builds-${process.pid}`);
      const builds = { a: join(folder, 'a'), b: join(folder, 'b') };
      await makeBuild(builds.a, 'A');
      await makeBuild(builds.b, 'B');
      await use(builds);
      rmSync(folder, { recursive: true });
    },
    // Two builds of the page: a busy machine takes minutes.
    { scope: 'worker', timeout: 600_000 },
  ],

  server: async ({ isolated, base, builds }, use) => {
    const server = await startServer({ isolated, base });
    server.site = builds.a;
    server.alter = beforeScript('');
    await use(server);
    await server.close();
  },

  baseURL: async ({ server, base }, use) => {
    await use(server.url + base);
  },

  context: async ({ mode, launchOptions, baseURL, browser }, use, testInfo) => {
    const options = { baseURL: baseURL! };
    const context =
      mode === 'private'
        ? await browser.newContext(options)
        : await chromium.launchPersistentContext(testInfo.outputPath('profile'), { ...launchOptions, ...options });
    const check = watchUnhandled(context);
    openFolds(context);
    await use(context);
    check();
    await context.close();
  },
});

/** Waits until the page's build is stored. */
async function untilKept(page: Page, site: string): Promise<void> {
  const { id } = JSON.parse(readFileSync(join(site, 'build.json'), 'utf8'));
  await expect.poll(() => keptBuild(page)).toBe(id);
  await expect.poll(() => page.evaluate(() => navigator.serviceWorker.controller !== null)).toBe(true);
}

/** Gives the page a clock. The returned function lets time pass until the workers have ended that loading it starts. */
async function installClock(page: Page): Promise<() => Promise<void>> {
  await page.clock.install();
  let started = 0;
  page.on('worker', () => {
    started += 1;
  });
  const passed = async () => {
    await page.clock.fastForward(11_000);
    return page.workers().length;
  };
  return async () => {
    await expect.poll(() => started).toBeGreaterThan(0);
    await expect.poll(passed).toBe(0);
  };
}

/** The stored build that opens next. */
const keptBuild = (page: Page): Promise<string | undefined> =>
  page.evaluate(async () => {
    const list = await caches.match(new URL('build.json', document.baseURI));
    return (await list?.json())?.id;
  });

async function convert(page: Page, expected: string): Promise<void> {
  await page.getByRole('radio', { name: 'As a download' }).click();
  const coming = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  const download = await coming;
  expect(await download.failure()).toBeNull();
  expect(hashFile(await download.path())).toBe(hashFile(expected));
  await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
}

async function convertSample(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Try a sample' }).click();
  await convert(page, images.sample());
}

/** The marks in the page's files. */
const markOf = (page: Page): Promise<string> =>
  page
    .getByRole('heading', { name: HEADING })
    .textContent()
    .then((text) => /\((\w)\)/.exec(text!)![1]!);

for (const [mode, isolated, base, tag] of [
  ['private', true, '/', []],
  ['private', false, '/some/folder/', FULL],
  ['profile', true, '/some/folder/', FULL],
] as const) {
  test.describe(`${mode}, ${isolated ? 'isolated' : 'not isolated'}, at ${base}`, { tag: [tag].flat() }, () => {
    test.use({ mode, isolated, base });

    test(
      'a page that was loaded works without its server',
      { tag: '@full' },
      async ({ page, context, server, builds }) => {
        const outliveWorkers = await installClock(page);
        await page.goto('');
        await untilKept(page, builds.a);
        await outliveWorkers();
        await context.setOffline(true);
        await server.close();
        await convertSample(page);
        // Features that the first image did not need: zstd and encryption.
        await page.getByRole('button', { name: 'another' }).click();
        await choose(page, images.zstd());
        await convert(page, images.raw());
      },
    );

    test('without its server it opens again, with its headers', async ({ page, context, server, builds }) => {
      await page.goto('');
      await untilKept(page, builds.a);
      await page.close();
      await server.close();
      await context.setOffline(true);
      const again = await context.newPage();
      const response = await again.goto('');
      expect(response!.headers()['content-security-policy']).toContain("default-src 'none'");
      expect(await again.evaluate(() => crossOriginIsolated)).toBe(isolated);
      const types = await again.evaluate(async () => {
        const { files } = await (await caches.match(new URL('build.json', document.baseURI)))!.json();
        const wasm = Object.keys(files).filter((path) => path.endsWith('.wasm'));
        return Promise.all(wasm.map(async (path) => (await fetch(path)).headers.get('content-type')));
      });
      expect(types).toEqual(Array(8).fill('application/wasm'));
      await convertSample(again);
    });
  });
}

for (const mode of ['private', 'profile'] as const) {
  test.describe(`${mode}, after a deployment`, () => {
    test.use({ mode });

    test(
      'a page keeps its build, the next one has the new one',
      { tag: FULL },
      async ({ page, context, server, builds }) => {
        const outliveWorkers = await installClock(page);
        await page.goto('');
        await untilKept(page, builds.a);
        server.site = builds.b;
        const other = await context.newPage();
        await other.goto('');
        // Once more: what is no longer opened is removed then, if nobody uses it.
        await other.reload();
        expect(await markOf(other)).toBe('B');
        // The page of A: its workers and wasm, including files that it had not loaded yet.
        expect(await markOf(page)).toBe('A');
        await outliveWorkers();
        const asked: string[] = [];
        context.on('request', (request) => asked.push(request.url()));
        await convertSample(page);
        await page.getByRole('button', { name: 'another' }).click();
        await choose(page, images.zstd());
        await convert(page, images.raw());
        expect(asked.filter((url) => url.includes('/assets/')).length).toBeGreaterThan(0);
        const names = readdirSync(join(builds.a, 'assets'));
        for (const url of asked.filter((url) => url.includes('/assets/')))
          expect(names).toContain(url.split('/').pop());
        // Both are used; then only B.
        expect(await cachedBuilds(other)).toBe(2);
        await page.close();
        await convertSample(other);
        await other.close();
        const last = await context.newPage();
        await last.goto('');
        expect(await markOf(last)).toBe('B');
        await expect.poll(() => cachedBuilds(last)).toBe(1);
      },
    );

    test('a reload has the new build', { tag: mode === 'private' ? [] : FULL }, async ({ page, server, builds }) => {
      await page.goto('');
      await untilKept(page, builds.a);
      server.site = builds.b;
      await page.reload();
      expect(await markOf(page)).toBe('B');
      await convertSample(page);
      // And back.
      server.site = builds.a;
      await page.reload();
      expect(await markOf(page)).toBe('A');
      await convertSample(page);
    });
  });
}

/** The number of stored builds. */
const cachedBuilds = (page: Page): Promise<number> =>
  page.evaluate(async () => (await caches.keys()).filter((name) => !name.endsWith('current')).length);

const broken: [string, (site: string) => void][] = [
  ['lacks a file', (site) => rmSync(anAsset(site, '.wasm'))],
  ['has a file of another build', (site) => writeFileSync(anAsset(site, '.wasm'), 'another')],
  ['has the page of another build', (site) => writeFileSync(join(site, 'index.html'), '<!doctype html>another')],
  ['has no list', (site) => rmSync(join(site, 'build.json'))],
  ['has a page for a list', (site) => writeFileSync(join(site, 'build.json'), '<!doctype html>')],
];
const anAsset = (site: string, ending: string) =>
  join(site, 'assets', readdirSync(join(site, 'assets')).find((name) => name.endsWith(ending))!);

for (const [how, spoil] of broken) {
  test(
    `a deployment that ${how} leaves the build that works`,
    { tag: FULL },
    async ({ page, server, builds }, testInfo) => {
      await page.goto('');
      await untilKept(page, builds.a);
      const site = testInfo.outputPath('site');
      cpSync(builds.b, site, { recursive: true });
      spoil(site);
      server.site = site;
      await page.reload();
      expect(await markOf(page)).toBe('A');
      await convertSample(page);
      // Once complete, it is used.
      server.site = builds.b;
      await page.reload();
      expect(await markOf(page)).toBe('B');
    },
  );
}

test('a deployment that repairs only headers is taken', { tag: FULL }, async ({ page, server, builds }) => {
  server.headers = { 'Cross-Origin-Embedder-Policy': 'unsafe-none' };
  await page.goto('');
  await untilKept(page, builds.a);
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(false);
  server.headers = {};
  await page.reload();
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
  // The workers' scripts have their headers anew too.
  await convertSample(page);
});

test('a browser whose caches fail opens the page of the server', { tag: FULL }, async ({ page, server }) => {
  server.alter = beforeScript(`
    for (const name of ['match', 'open', 'keys', 'has', 'delete'])
      CacheStorage.prototype[name] = () => Promise.reject(new DOMException('damaged', 'UnknownError'));`);
  await page.goto('');
  await expect.poll(() => page.evaluate(() => navigator.serviceWorker.controller !== null)).toBe(true);
  await page.reload();
  expect(await markOf(page)).toBe('A');
  await convertSample(page);
});

/** Comes before the service worker's script: the minute that a file may take ends when the page says so. */
const END_OF_TIME = `
  const limits = [];
  AbortSignal.timeout = () => {
    const limit = new AbortController();
    limits.push(limit);
    return limit.signal;
  };
  self.addEventListener('message', ({ data, ports }) => {
    if (data !== 'end of time') return;
    for (const limit of limits) limit.abort(new DOMException('by the test', 'TimeoutError'));
    ports[0].postMessage(limits.length);
  });`;

test('a list that never comes does not stop later attempts', { tag: FULL }, async ({ page, server, builds }) => {
  server.alter = beforeScript(END_OF_TIME);
  server.silent = '/build.json';
  await page.goto('');
  const ended = () =>
    page.evaluate(async () => {
      const { active } = await navigator.serviceWorker.ready;
      const { port1, port2 } = new MessageChannel();
      return new Promise<number>((resolve) => {
        port1.onmessage = ({ data }) => resolve(data);
        active!.postMessage('end of time', [port2]);
      });
    });
  await expect.poll(ended).toBeGreaterThan(0);
  server.silent = undefined;
  await page.reload();
  await untilKept(page, builds.a);
});

test.describe('beside another page of its origin', { tag: FULL }, () => {
  test.use({ base: '/some/folder/' });
  test('unused builds are removed', async ({ page, context, server, builds }) => {
    await (await context.newPage()).goto(`${server.url}/blank`);
    await page.goto('');
    await untilKept(page, builds.a);
    server.site = builds.b;
    await page.reload();
    expect(await markOf(page)).toBe('B');
    await page.close();
    const last = await context.newPage();
    await last.goto('');
    await expect.poll(() => cachedBuilds(last)).toBe(1);
  });
});

test(
  'an address that has a page without a service worker now shows it',
  { tag: FULL },
  async ({ page, server, builds }, testInfo) => {
    await page.goto('');
    await untilKept(page, builds.a);
    const site = testInfo.outputPath('site');
    cpSync(builds.b, site, { recursive: true });
    for (const file of ['build.json', 'service-worker.js']) rmSync(join(site, file));
    writeFileSync(join(site, 'index.html'), '<!doctype html><h1>Another</h1>');
    server.site = site;
    await page.reload();
    await expect.poll(() => page.evaluate(() => caches.keys())).toEqual([]);
    await page.reload();
    await expect(page.getByRole('heading', { name: 'Another' })).toBeVisible();
  },
);

for (const [how, spoil] of [
  [
    'is broken',
    (server) => {
      server.status = 503;
    },
  ],
  ['cannot be reached', (server) => server.close()],
  [
    'answers every request with a login',
    (server, folder) => {
      mkdirSync(folder);
      for (const file of ['index.html', 'service-worker.js', 'build.json'])
        writeFileSync(join(folder, file), '<!doctype html><h1>Log in</h1>');
      server.site = folder;
      server.headers = { 'Content-Type': 'text/html' };
    },
  ],
] as [how: string, spoil: (server: TestServer, folder: string) => void | Promise<void>][]) {
  test(`a page whose server ${how} stays`, { tag: FULL }, async ({ page, server, builds }, testInfo) => {
    await page.goto('');
    await untilKept(page, builds.a);
    await spoil(server, testInfo.outputPath('login'));
    // It registers its service worker again once it knows that this was not removed from the server.
    await page.addInitScript(() => {
      navigator.serviceWorker.register = () => {
        document.documentElement.dataset.registers = 'again';
        return Promise.reject(new Error('no server'));
      };
    });
    await page.reload();
    await expect.poll(() => page.evaluate(() => document.documentElement.dataset.registers)).toBe('again');
    await page.reload();
    await convertSample(page);
  });
}

test('the server of npm start serves the page as it is kept', { tag: '@full' }, async ({ browser }) => {
  const server = await preview({
    configFile: join(root, 'web', 'vite.config.ts'),
    root: join(root, 'web'),
    logLevel: 'warn',
    preview: { port: 0 },
  });
  const url = server.resolvedUrls!.local[0]!;
  const script = await fetch(`${url}service-worker.js`);
  expect(script.headers.get('content-type')).toContain('text/javascript');
  expect(script.headers.get('cache-control')).toBe('no-cache');
  const page = await browser.newPage();
  openFolds(page.context());
  await page.goto(url);
  await untilKept(page, join(root, 'site'));
  await server.close();
  await page.reload();
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
  await convertSample(page);
  await page.close();
});
