// Downloads as a stream through the page's service worker, in private windows and in a profile.

import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Download,
  type Page,
} from '@playwright/test';
import { test as base, expect, giveFile, loadApi } from '../support/browser.js';
import { bundle } from '../support/bundle.js';
import { hashFile, images } from '../support/images.js';
import { watchUnhandled } from '../support/unhandled.js';

type Streamed = typeof import('../../web/download/streamed.js');

declare global {
  interface Window {
    streamed: Streamed;
    /** What a test has begun. */
    begun: import('../../dist/element.js').StreamedDownload;
    writer: WritableStreamDefaultWriter<Uint8Array>;
    /** What the writer's failure says. */
    failure: Promise<string>;
  }
}

const MODULE = '/test/streamed.js';

interface Fixtures {
  /** A private window or a profile of its own. */
  mode: 'private' | 'profile';
  /** Where downloads are kept: empty at first. */
  downloads: string;
  profile: BrowserContext;
  /** The page with its service worker, and the module as `window.streamed`. */
  streaming: Page;
}

const test = base.extend<Fixtures, { windows: { browser: Browser; downloads: string } }>({
  mode: ['private', { option: true }],

  /** The browser of all private windows. */
  windows: [
    async ({ launchOptions }, use) => {
      const downloads = mkdtempSync(join(tmpdir(), 'decant-downloads-'));
      const browser = await chromium.launch({ ...launchOptions, downloadsPath: downloads });
      await use({ browser, downloads });
      await browser.close();
      rmSync(downloads, { recursive: true });
    },
    { scope: 'worker' },
  ],

  downloads: async ({ mode, windows }, use, testInfo) => {
    const folder = mode === 'private' ? windows.downloads : testInfo.outputPath('downloads');
    mkdirSync(folder, { recursive: true });
    expect(readdirSync(folder), 'left by another test').toEqual([]);
    await use(folder);
  },

  profile: async ({ mode, windows, downloads, launchOptions, baseURL }, use, testInfo) => {
    const context: BrowserContextOptions = { baseURL: baseURL! };
    const options = { ...launchOptions, downloadsPath: downloads, ...context };
    const opened =
      mode === 'profile'
        ? await chromium.launchPersistentContext(testInfo.outputPath('profile'), options)
        : await windows.browser.newContext(context);
    await use(opened);
    await opened.close();
  },

  streaming: async ({ profile, servers, isolated }, use) => {
    const check = watchUnhandled(profile);
    servers[isolated ? 'isolated' : 'plain'].scripts.set(MODULE, await bundle('web/download/streamed.ts'));
    const page = await profile.newPage();
    await page.goto('/');
    await loadModule(page);
    expect(await page.evaluate(() => window.streamed.streamObstacle())).toBeUndefined();
    await use(page);
    check();
  },
});

async function loadModule(page: Page): Promise<void> {
  await page.evaluate(async (url) => {
    window.streamed = await import(url);
  }, MODULE);
}

/** Begins a download, as `window.begun` with a writer and its failure. */
async function begin(page: Page, name: string, size: number): Promise<Download> {
  const coming = page.waitForEvent('download');
  await page.evaluate(
    async ([name, size]) => {
      window.begun = await window.streamed.openStreamedDownload(name, size);
      window.writer = window.begun.writable.getWriter();
      window.failure = window.writer.closed.then(
        () => 'none',
        (reason) => reason.message,
      );
    },
    [name, size] as const,
  );
  return coming;
}

/** Writes `size` bytes that follow from their positions, in pieces of up to `piece` bytes. */
async function write(page: Page, size: number, piece = 3_000_000): Promise<void> {
  await page.evaluate(
    async ([size, piece]) => {
      for (let at = 0; at < size; at += piece) {
        const bytes = new Uint8Array(Math.min(piece, size - at));
        for (let index = 0; index < bytes.length; index += 1) bytes[index] = ((at + index) * 2654435761) >>> 13;
        await window.writer.write(bytes);
      }
    },
    [size, piece] as const,
  );
}

function hashOf(size: number): string {
  const bytes = Buffer.alloc(size);
  for (let index = 0; index < size; index += 1) bytes[index] = (index * 2654435761) >>> 13;
  return createHash('sha256').update(bytes).digest('hex');
}

/** Begins to convert the image at `path` into a download; the answer is what becomes of it. */
async function convert(page: Page, path: string): Promise<{ download: Download; outcome: Promise<string> }> {
  // A page with the same service worker and nothing else.
  await page.goto('/blank');
  await loadModule(page);
  await loadApi(page);
  await giveFile(page, path);
  const coming = page.waitForEvent('download');
  const outcome = page.evaluate(async () => {
    const image = await window.decant.open(window.file);
    const { writable, cancelled } = await window.streamed.openStreamedDownload('disk.raw', image.info.virtualSize);
    try {
      const result = await image.convert(writable, { signal: cancelled });
      return `${result.bytesWritten}`;
    } catch (error) {
      return (error as Error & { kind: string }).kind;
    } finally {
      await image.close();
    }
  });
  return { download: await coming, outcome };
}

/** The download is shown as failed, and no file of it is left. */
async function expectFailed(download: Download, folder: string): Promise<void> {
  expect(await download.failure()).not.toBeNull();
  await expect.poll(() => readdirSync(folder)).toEqual([]);
}

async function endServiceWorkers(page: Page): Promise<void> {
  const client = await page.context().newCDPSession(page);
  await client.send('ServiceWorker.enable');
  await client.send('ServiceWorker.stopAllWorkers');
  await client.detach();
}

for (const mode of ['private', 'profile'] as const) {
  test.describe(mode, () => {
    test.use({ mode });

    for (const isolated of [true, false]) {
      test.describe(isolated ? 'isolated' : 'not isolated', () => {
        test.use({ isolated });

        test('the bytes arrive', async ({ streaming }) => {
          for (const size of [0, 1, 1 << 20, 20_000_003]) {
            const download = await begin(streaming, 'disk.raw', size);
            await write(streaming, size);
            await streaming.evaluate(() => window.writer.close());
            expect(await streaming.evaluate(() => window.begun.taken())).toBe(size);
            expect(await download.failure()).toBeNull();
            expect(download.suggestedFilename()).toBe('disk.raw');
            expect(hashFile(await download.path())).toBe(hashOf(size));
          }
        });
      });
    }

    test('an image becomes a streamed download', async ({ streaming }) => {
      const { download, outcome } = await convert(streaming, images.zlib());
      expect(await outcome).toBe(`${statSync(images.raw()).size}`);
      expect(await download.failure()).toBeNull();
      expect(hashFile(await download.path())).toBe(hashFile(images.raw()));
    });

    test('a conversion that fails is a download that fails', async ({ streaming, downloads }) => {
      const { download, outcome } = await convert(streaming, images.corrupt());
      expect(await outcome).toBe('corrupt');
      await expectFailed(download, downloads);
    });

    test('a download that is cancelled in the list cancels the conversion', async ({ streaming, downloads }) => {
      const { download, outcome } = await convert(streaming, images.zlib());
      await download.cancel();
      expect(await outcome).toBe('cancelled');
      await expectFailed(download, downloads);
    });

    test('a cancel in the list of downloads reaches the writer', async ({ streaming, downloads }) => {
      const download = await begin(streaming, 'disk.raw', 1e9);
      await write(streaming, 20e6);
      await download.cancel();
      expect(await streaming.evaluate(() => window.failure)).toContain('cancelled in the browser');
      expect(await streaming.evaluate(() => window.begun.cancelled.aborted)).toBe(true);
      await expect(write(streaming, 1)).rejects.toThrow('cancelled in the browser');
      await expectFailed(download, downloads);
    });

    const failures: [string, (page: Page) => Promise<unknown>, string][] = [
      ['aborted', (page) => page.evaluate(() => window.writer.abort(new Error('no disk'))), 'no disk'],
      ['closed too early', (page) => page.evaluate(() => window.writer.close().catch(() => {})), '20000000 bytes of'],
      ['written too much', (page) => write(page, 20_000_001).catch(() => {}), 'More than the 40000000 bytes'],
      ['left without its service worker', endServiceWorkers, 'The browser ended what streams the download'],
    ];
    for (const [how, cause, reason] of failures) {
      test(`a download that is ${how} fails`, async ({ streaming, downloads }) => {
        const download = await begin(streaming, 'disk.raw', 40e6);
        await write(streaming, 20e6);
        await cause(streaming);
        expect(await streaming.evaluate(() => window.failure)).toContain(reason);
        await expectFailed(download, downloads);
      });
    }

    test('a download whose service worker ended when all bytes had been written fails', async ({
      streaming,
      downloads,
    }) => {
      const download = await begin(streaming, 'disk.raw', 20e6);
      await write(streaming, 20e6);
      await expect.poll(() => streaming.evaluate(() => window.begun.taken())).toBe(20e6);
      await endServiceWorkers(streaming);
      expect(await streaming.evaluate(() => window.writer.close().then(String, (error) => error.message))).toContain(
        'The browser ended what streams the download',
      );
      await expectFailed(download, downloads);
    });

    test('a download whose tab was closed fails', async ({ streaming, downloads, profile }) => {
      // Another one, so that the browser stays.
      await profile.newPage();
      const download = await begin(streaming, 'disk.raw', 40e6);
      await write(streaming, 20e6);
      await streaming.close();
      await expect.poll(() => readdirSync(downloads), { timeout: 30_000 }).toEqual([]);
      expect(await download.failure()).not.toBeNull();
    });
  });
}

test('two downloads at once do not mix', async ({ streaming }) => {
  const sizes = [9_000_001, 5_000_007];
  const coming: Promise<Download>[] = [];
  streaming.on('download', (download) => coming.push(Promise.resolve(download)));
  await streaming.evaluate(async (sizes) => {
    const opened = await Promise.all(sizes.map((size) => window.streamed.openStreamedDownload(`${size}.raw`, size)));
    await Promise.all(
      opened.map(async ({ writable }, at) => {
        const bytes = new Uint8Array(sizes[at]!);
        for (let index = 0; index < bytes.length; index += 1) bytes[index] = (index * 2654435761) >>> 13;
        const writer = writable.getWriter();
        await writer.write(bytes);
        await writer.close();
      }),
    );
  }, sizes);
  for (const download of await Promise.all(coming)) {
    const size = Number.parseInt(download.suggestedFilename(), 10);
    expect(hashFile(await download.path())).toBe(hashOf(size));
  }
  expect(coming).toHaveLength(2);
});

const names: [string, string | RegExp][] = [
  ['Gerät "1" (naïve)\'s; x=1 %41*.raw', "Gerät _1_ (naïve)'s; x=1 %41_.raw"],
  ['日本語 🐧.raw', '日本語 🐧.raw'],
  ['../../etc/passwd', /^[^/\\]*_etc_passwd$/],
  ['C:\\Windows\\disk.raw', 'C__Windows_disk.raw'],
  ['a\r\nSet-Cookie: b=1\u0000\u001b[2J.raw', 'a__Set-Cookie_ b=1__[2J.raw'],
  ['\u202ewar.exe', '_war.exe'],
  ['\ud800.raw', '\ufffd.raw'],
  ['..', 'disk'],
  ['', 'disk'],
  [`${'ü'.repeat(3000)}.raw`, /^ü{90,98}\.raw$/],
];
test('a name is only a name', async ({ streaming }) => {
  for (const [name, saved] of names) {
    const download = await begin(streaming, name, 1);
    await write(streaming, 1);
    await streaming.evaluate(() => window.writer.close());
    expect(await download.failure()).toBeNull();
    if (saved instanceof RegExp) expect(download.suggestedFilename()).toMatch(saved);
    else expect(download.suggestedFilename()).toBe(saved);
  }
});

test('a page that asks before it is left is not left, and does not ask', async ({ streaming }) => {
  const asked: string[] = [];
  streaming.on('dialog', (dialog) => {
    asked.push(dialog.type());
    return dialog.dismiss();
  });
  await streaming.evaluate(() => addEventListener('beforeunload', (event) => event.preventDefault()));
  await streaming.mouse.click(5, 5);
  const download = await begin(streaming, 'disk.raw', 1000);
  await write(streaming, 1000);
  await streaming.evaluate(() => window.writer.close());
  expect(await download.failure()).toBeNull();
  expect(asked).toEqual([]);
  expect(await streaming.evaluate(() => document.querySelectorAll('iframe').length)).toBe(0);
});

test('a browser that does not take bytes stops the writer', async ({ streaming }) => {
  // The test takes the browser's place: it fetches the address that the frame was to load.
  const { taken, written, rest } = await streaming.evaluate(async (size) => {
    const address = new Promise<string>((resolve) => {
      Object.defineProperty(HTMLIFrameElement.prototype, 'src', { set: resolve });
    });
    const opening = window.streamed.openStreamedDownload('disk.raw', size);
    const response = await fetch(await address);
    const { writable, taken } = await opening;
    let written = 0;
    const writing = (async () => {
      const writer = writable.getWriter();
      for (; written < size; written += 1 << 20) await writer.write(new Uint8Array(1 << 20));
      await writer.close();
    })();
    let before = -1;
    while (before !== written) {
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    const stopped = { taken: taken(), written };
    const rest = (await response.arrayBuffer()).byteLength;
    await writing;
    return { ...stopped, rest };
  }, 200 << 20);
  // What the browser has asked for of itself, and a window more.
  expect(taken).toBeLessThanOrEqual(8 << 20);
  expect(written - taken).toBeLessThanOrEqual(8 << 20);
  expect(rest).toBe(200 << 20);
});

test('an abort reaches a browser that does not take bytes', async ({ streaming }) => {
  const failure = await streaming.evaluate(async () => {
    const address = new Promise<string>((resolve) => {
      Object.defineProperty(HTMLIFrameElement.prototype, 'src', { set: resolve });
    });
    const opening = window.streamed.openStreamedDownload('disk.raw', 1e9);
    const response = await fetch(await address);
    const writer = (await opening).writable.getWriter();
    // It waits for ever.
    writer.write(new Uint8Array(100e6)).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await writer.abort(new Error('no disk'));
    return response.arrayBuffer().then(String, (error) => error.name);
  });
  expect(failure).toBe('TypeError');
});

// (what was done when it is aborted)
for (const when of ['before it', 'while the service worker is asked', 'while the browser is waited for'] as const) {
  test(`a beginning that is aborted ${when} ends at once and leaves nothing`, async ({ streaming }) => {
    const left = await streaming.evaluate(async (when) => {
      const cancel = new AbortController();
      // The browser never asks for it.
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
      const outcome = await Promise.race([opening, new Promise((resolve) => setTimeout(resolve, 3000, 'nothing'))]);
      // The service worker is told of it by a message.
      await new Promise((resolve) => setTimeout(resolve, 500));
      const status = asked === undefined ? 404 : (await fetch(asked)).status;
      const { held = [] } = await navigator.locks.query();
      const locks = held.filter(({ name }) => name === 'decant:download').length;
      return { outcome, status, locks, frames: document.querySelectorAll('iframe').length };
    }, when);
    expect(left).toEqual({ outcome: 'AbortError', status: 404, locks: 0, frames: 0 });
  });
}

test('a download that the browser does not begin says why', async ({ streaming }) => {
  const told = await streaming.evaluate(() => {
    Object.defineProperty(HTMLIFrameElement.prototype, 'src', { set: () => {} });
    // It waits 20 seconds.
    const timeout = window.setTimeout;
    Object.assign(window, { setTimeout: (done: () => void, time: number) => timeout(done, Math.min(time, 6000)) });
    return window.streamed.openStreamedDownload('disk.raw', 1).then(String, (error) => error.message);
  });
  expect(told).toBe('the browser did not begin the download');
});

test('an address serves once, and never what a server has there', async ({ streaming, servers }) => {
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

test('a new service worker takes over when no tab downloads any more', async ({ streaming, profile, servers }) => {
  const isWaiting = (page: Page) => page.evaluate(async () => (await navigator.serviceWorker.ready).waiting !== null);
  const download = await begin(streaming, 'disk.raw', 2000);
  await write(streaming, 1000);
  const other = await profile.newPage();
  servers.isolated.alter = (path, script) => (path === '/service-worker.js' ? `${script}\n// newer` : script);
  try {
    await other.goto('/');
    await other.evaluate(async () => (await navigator.serviceWorker.ready).update());
    await expect.poll(() => isWaiting(other)).toBe(true);
    await other.reload();
    await other.waitForTimeout(3000);
    expect(await isWaiting(other)).toBe(true);
    await write(streaming, 1000);
    await streaming.evaluate(() => window.writer.close());
    expect(await download.failure()).toBeNull();
    await other.reload();
    await expect.poll(() => isWaiting(other)).toBe(false);
  } finally {
    servers.isolated.alter = undefined;
  }
});

test.describe('without service workers', () => {
  test.use({ serviceWorkers: 'block' });
  test('the obstacle is told', async ({ page, servers }) => {
    servers.isolated.scripts.set(MODULE, await bundle('web/download/streamed.ts'));
    await page.goto('/');
    const told = await page.evaluate(async (url) => {
      const streamed: Streamed = await import(url);
      return [
        await streamed.streamObstacle(),
        await streamed.openStreamedDownload('disk.raw', 1).then(String, (error) => error.message),
      ];
    }, MODULE);
    expect(told).toEqual([
      'What streams a download is not ready yet; reload the page and try again.',
      'what streams a download is not ready yet; reload the page and try again',
    ]);
  });
});

test('a page that was not loaded over https works, and tells the obstacle', async ({ servers, launchOptions }) => {
  servers.isolated.scripts.set(MODULE, await bundle('web/download/streamed.ts'));
  const browser = await chromium.launch({
    ...launchOptions,
    args: [...launchOptions.args!, '--host-resolver-rules=MAP decant.test 127.0.0.1'],
  });
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(servers.isolated.url.replace('localhost', 'decant.test'));
  await expect(page.getByRole('heading', { name: 'Drop a disk image here' })).toBeVisible();
  const told = await page.evaluate(async (url) => (await import(url)).streamObstacle(), MODULE);
  expect(told).toContain('https');
  expect(complaints).toEqual([]);
  await browser.close();
});

// Longer than an event of a service worker may last (5 minutes), with a pause longer than an idle one lives (30 s).
test('a download of seven minutes with long pauses arrives', { tag: '@long' }, async ({ streaming }) => {
  test.setTimeout(600_000);
  const download = await begin(streaming, 'disk.raw', 20e6);
  await streaming.evaluate(async (size) => {
    for (let at = 0; at < size; at += size / 4) {
      await new Promise((resolve) => setTimeout(resolve, 105_000));
      await window.writer.write(new Uint8Array(size / 4));
    }
    await window.writer.close();
  }, 20e6);
  expect(await download.failure()).toBeNull();
  expect(statSync(await download.path()).size).toBe(20e6);
});
