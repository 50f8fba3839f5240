// How streamed downloads begin, and why they do not: addresses, aborts, obstacles, a new service worker.

import { randomUUID } from 'node:crypto';
import { chromium, type Page } from '@playwright/test';
import { bundle } from '../support/bundle.js';
import { begin, expect, loadModule, MODULE, test, write } from '../support/streamed.js';

declare global {
  interface Window {
    /** Resolves once the page has looked for downloads, before which it does not let a new service worker take over. */
    looked: Promise<void>;
    /** What the page has sent to service workers. */
    sent: unknown[];
    /** The reasons for which no download begins. */
    reasons: Promise<string[]>;
  }
}

// (what has been done when it is aborted)
for (const when of ['before it', 'while the service worker is asked', 'while the browser is waited for'] as const) {
  const title = `a beginning that is aborted ${when} ends and leaves nothing`;
  test(title, { tag: '@full' }, async ({ streaming }) => {
    const left = await streaming.evaluate(async (when) => {
      const cancel = new AbortController();
      // The browser never requests it.
      const address = new Promise<string>((resolve) => {
        Object.defineProperty(HTMLIFrameElement.prototype, 'src', { set: resolve });
      });
      if (when === 'before it') cancel.abort();
      const opening = window.streamed.openStreamedDownload('disk.raw', 1, cancel.signal).then(
        () => 'begun',
        (error) => error.name,
      );
      const asked = when === 'while the browser is waited for' ? await address : undefined;
      cancel.abort();
      const outcome = await opening;
      const { active } = await navigator.serviceWorker.ready;
      const isKnown = (id: string) =>
        new Promise<boolean>((resolve) => {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = ({ data }) => resolve(data);
          active!.postMessage({ ask: 'alive', id }, [port2]);
        });
      while (asked !== undefined && (await isKnown(asked.split('/').at(-1)!)));
      const status = asked === undefined ? 404 : (await fetch(asked)).status;
      // The browser grants it once the beginning has given it back.
      const lock = await navigator.locks.request('decant:download', () => 'free');
      return { outcome, status, lock, frames: document.querySelectorAll('iframe').length };
    }, when);
    expect(left).toEqual({ outcome: 'AbortError', status: 404, lock: 'free', frames: 0 });
  });
}

test('a download that the browser does not begin says why', { tag: '@full' }, async ({ streaming }) => {
  await streaming.clock.install();
  await streaming.evaluate(async () => {
    const navigated = new Promise((resolve) => {
      Object.defineProperty(HTMLIFrameElement.prototype, 'src', { set: resolve });
    });
    window.failure = window.streamed.openStreamedDownload('disk.raw', 1).then(String, (error) => error.message);
    await navigated;
  });
  await streaming.clock.fastForward(20_000);
  expect(await streaming.evaluate(() => window.failure)).toBe('the browser did not start the download');
});

test('an address serves once, and never what a server has there', { tag: '@full' }, async ({ streaming, servers }) => {
  const unused = `/download/${randomUUID()}`;
  for (const path of [unused, '/download/file.js']) servers.isolated.scripts.set(path, '// of the server');

  const statuses = await streaming.evaluate(async (unused) => {
    const addresses: string[] = [];
    const { set } = Object.getOwnPropertyDescriptor(HTMLIFrameElement.prototype, 'src')!;
    Object.defineProperty(HTMLIFrameElement.prototype, 'src', {
      set(address) {
        addresses.push(address);
        set!.call(this, address);
      },
    });
    window.begun = await window.streamed.openStreamedDownload('disk.raw', 5);
    const during = await fetch(addresses[0]!);
    await window.begun.writable.abort(new Error('enough'));
    const after = await fetch(addresses[0]!);
    const others = [await fetch(unused), await fetch('./download/file.js')];
    return [during, after, ...others].map(({ status }) => status);
  }, unused);
  expect(statuses).toEqual([404, 404, 404, 200]);
});

const isWaiting = (page: Page) => page.evaluate(async () => (await navigator.serviceWorker.ready).waiting !== null);

test(
  'a new service worker takes over when no tab downloads any more',
  { tag: '@full' },
  async ({ streaming, profile, servers }) => {
    const download = await begin(streaming, 'disk.raw', 2000);
    await write(streaming, 1000);
    const other = await profile.newPage();
    servers.isolated.alter = (path, script) => (path === '/service-worker.js' ? `${script}\n// newer` : script);
    await other.addInitScript(() => {
      const query = navigator.locks.query.bind(navigator.locks);
      window.looked = new Promise((resolve) => {
        navigator.locks.query = () => query().finally(resolve);
      });
      window.sent = [];
      const { postMessage } = ServiceWorker.prototype;
      ServiceWorker.prototype.postMessage = function (message: unknown) {
        window.sent.push(message);
        postMessage.call(this, message);
      };
    });
    await other.goto('/');
    await other.evaluate(async () => (await navigator.serviceWorker.ready).update());
    await expect.poll(() => isWaiting(other)).toBe(true);
    await other.reload();
    await other.evaluate(() => window.looked);
    // Asked by itself: Chromium would let a new one wait for the download, whatever the page sends.
    expect(await other.evaluate(() => window.sent)).toEqual(['keep']);
    expect(await isWaiting(other)).toBe(true);
    await write(streaming, 1000);
    await streaming.evaluate(() => window.writer.close());
    expect(await download.failure()).toBeNull();
    await other.reload();
    await expect.poll(() => isWaiting(other)).toBe(false);
  },
);

test.describe('without service workers', { tag: '@full' }, () => {
  test.use({ serviceWorkers: 'block' });
  test('the obstacle is reported', async ({ page, servers }) => {
    servers.isolated.scripts.set(MODULE, await bundle('e2e/support/streamed-module.ts'));
    await page.clock.install();
    await page.goto('/');
    await loadModule(page);
    await page.evaluate(() => {
      const attempts = [window.streamed.streamObstacle(), window.streamed.openStreamedDownload('disk.raw', 1)];
      window.reasons = Promise.all(attempts.map((each) => each.then(String, (error) => error.message)));
    });
    await page.clock.fastForward(5000);
    expect(await page.evaluate(() => window.reasons)).toEqual([
      'the service worker of this page is not ready yet; reload the page and try again',
      'the service worker of this page is not ready yet; reload the page and try again',
    ]);
  });
});

const INSECURE = 'a page that was not loaded over https works, and tells the obstacle';
test(INSECURE, { tag: '@full' }, async ({ servers, launchOptions }) => {
  servers.isolated.scripts.set(MODULE, await bundle('e2e/support/streamed-module.ts'));
  const browser = await chromium.launch({
    ...launchOptions,
    args: [...launchOptions.args!, '--host-resolver-rules=MAP decant.test 127.0.0.1'],
  });
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(servers.isolated.url.replace('localhost', 'decant.test'));
  await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
  const told = await page.evaluate(async (url) => (await import(url)).streamObstacle(), MODULE);
  expect(told).toContain('https');
  expect(complaints).toEqual([]);
  await browser.close();
});
