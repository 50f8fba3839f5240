// Downloads as a stream through the page's service worker, in private windows and in a profile.

import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import type { Download, Page } from '@playwright/test';
import { giveFile, loadApi } from '../support/browser.js';
import { hashFile, images } from '../support/images.js';
import { begin, expect, loadModule, test, write } from '../support/streamed.js';

function hashOf(size: number): string {
  const bytes = Buffer.alloc(size);
  for (let index = 0; index < size; index += 1) bytes[index] = (index * 2654435761) >>> 13;
  return createHash('sha256').update(bytes).digest('hex');
}

interface Options {
  /** Whether the conversion waits after its first bytes until the download is cancelled. */
  holds?: boolean;
}

/** Begins to convert the image at `path` into a download; `outcome` is how many bytes were written, or the error's kind. */
async function convert(
  page: Page,
  path: string,
  { holds = false }: Options = {},
): Promise<{ download: Download; outcome: Promise<string> }> {
  // A page with the same service worker and nothing else.
  await page.goto('/blank');
  await loadModule(page);
  await loadApi(page);
  await giveFile(page, path);
  const coming = page.waitForEvent('download');
  const outcome = page.evaluate(async (holds) => {
    const image = await window.decant.open(window.file);
    const { writable, cancelled } = await window.streamed.openStreamedDownload('disk.raw', image.info.virtualSize);
    const cancel = new Promise((resolve) => cancelled.addEventListener('abort', resolve));
    const writer = writable.getWriter();
    const held = new WritableStream<Uint8Array>({
      write: async (bytes) => {
        await writer.write(bytes);
        await cancel;
      },
      abort: (reason) => writer.abort(reason),
    });
    if (!holds) writer.releaseLock();
    try {
      const result = await image.convert(holds ? held : writable, { signal: cancelled });
      return `${result.bytesWritten}`;
    } catch (error) {
      return (error as Error & { kind: string }).kind;
    } finally {
      await image.close();
    }
  }, holds);
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

/** Lets so much time pass in the page, which has a clock of its own, that it asks after its service worker. */
const letAsk = (page: Page): Promise<void> => page.clock.fastForward(5000);

for (const mode of ['private', 'profile'] as const) {
  test.describe(mode, { tag: mode === 'profile' ? '@full' : [] }, () => {
    test.use({ mode });

    for (const isolated of [true, false]) {
      test.describe(isolated ? 'isolated' : 'not isolated', { tag: isolated ? [] : '@full' }, () => {
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
      const { download, outcome } = await convert(streaming, images.zlib(), { holds: true });
      await download.cancel();
      expect(await outcome).toBe('cancelled');
      await expectFailed(download, downloads);
    });

    test('a cancel in the list of downloads reaches the writer', { tag: '@full' }, async ({ streaming, downloads }) => {
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
      [
        'left without its service worker',
        (page) => endServiceWorkers(page).then(() => letAsk(page)),
        'the browser ended the service worker of this page',
      ],
    ];
    for (const [how, cause, reason] of failures) {
      test(`a download that is ${how} fails`, { tag: '@full' }, async ({ streaming, downloads }) => {
        await streaming.clock.install();
        const download = await begin(streaming, 'disk.raw', 40e6);
        await write(streaming, 20e6);
        await cause(streaming);
        expect(await streaming.evaluate(() => window.failure)).toContain(reason);
        await expectFailed(download, downloads);
      });
    }

    test(
      'a download whose service worker ended when all bytes had been written fails',
      { tag: '@full' },
      async ({ streaming, downloads }) => {
        await streaming.clock.install();
        const download = await begin(streaming, 'disk.raw', 20e6);
        await write(streaming, 20e6);
        await expect.poll(() => streaming.evaluate(() => window.begun.taken())).toBe(20e6);
        await endServiceWorkers(streaming);
        const closing = streaming.evaluate(() => window.writer.close().then(String, (error) => error.message));
        await letAsk(streaming);
        expect(await closing).toContain('the browser ended the service worker of this page');
        await expectFailed(download, downloads);
      },
    );

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

test('two downloads at once do not mix', { tag: '@full' }, async ({ streaming }) => {
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
test('a name is only a name', { tag: '@full' }, async ({ streaming }) => {
  for (const [name, saved] of names) {
    const download = await begin(streaming, name, 1);
    await write(streaming, 1);
    await streaming.evaluate(() => window.writer.close());
    expect(await download.failure()).toBeNull();
    if (saved instanceof RegExp) expect(download.suggestedFilename()).toMatch(saved);
    else expect(download.suggestedFilename()).toBe(saved);
  }
});

test('a page that asks before it is left is not left, and does not ask', { tag: '@full' }, async ({ streaming }) => {
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

test('a browser that does not take bytes stops the writer', { tag: '@full' }, async ({ streaming }) => {
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
    // Until so many questions to the service worker, each answered after what was sent before, change nothing.
    for (let before = -1, same = 0; same < 20; same = before === written ? same + 1 : 0) {
      before = written;
      await window.streamed.streamObstacle();
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

test('an abort reaches a browser that does not take bytes', { tag: '@full' }, async ({ streaming }) => {
  const failure = await streaming.evaluate(async () => {
    const address = new Promise<string>((resolve) => {
      Object.defineProperty(HTMLIFrameElement.prototype, 'src', { set: resolve });
    });
    const opening = window.streamed.openStreamedDownload('disk.raw', 1e9);
    const response = await fetch(await address);
    const writer = (await opening).writable.getWriter();
    // It waits for ever.
    writer.write(new Uint8Array(100e6)).catch(() => {});
    // Each question to the service worker is answered after what was sent before.
    for (let questions = 0; questions < 20; questions += 1) await window.streamed.streamObstacle();
    await writer.abort(new Error('no disk'));
    return response.arrayBuffer().then(String, (error) => error.name);
  });
  expect(failure).toBe('TypeError');
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
