// In a host page: objects of another window, proxies of frameworks, two copies of the package, and leftovers.

import { chromium, type Frame } from '@playwright/test';
import { expect, giveFile, hashOpfs, type Page, test } from '../support/browser.js';
import { hashFile, images, sparse } from '../support/images.js';
import { byScope } from '../support/scope.js';

type Decant = typeof window.decant;

const names = (page: Page, folder: string): Promise<string[]> =>
  page.evaluate(async (folder) => {
    const root = await navigator.storage.getDirectory();
    const names: string[] = [];
    for await (const name of (await root.getDirectoryHandle(folder, { create: true })).keys()) names.push(name);
    return names;
  }, folder);

test('sources and bytes of another window are recognised', async ({ apiPage: page }) => {
  await giveFile(page, images.kinds());
  const told = await page.evaluate(async () => {
    const frame = document.body.appendChild(document.createElement('iframe'));
    const other = frame.contentWindow as Window & typeof globalThis;
    const bytes = await window.file.arrayBuffer();
    const foreign = new other.Uint8Array(bytes.byteLength);
    foreign.set(new Uint8Array(bytes));
    const read = async (input: Parameters<Decant['open']>[0]) => {
      const image = await window.decant.open(input, { signal: new other.AbortController().signal });
      const { format } = image.info;
      await image.close();
      return format;
    };
    return Promise.all([
      read(new other.File([bytes], 'disk.qcow2')),
      read(new other.Blob([bytes])),
      read(foreign),
      read(foreign.buffer),
      read(bytes),
    ]);
  });
  expect(told).toEqual(Array(5).fill('qcow2'));
});

test('an image works inside the proxy of a framework', async ({ apiPage: page }) => {
  const { image, raw } = sparse(64 << 20);
  await giveFile(page, image);
  await page.evaluate(async () => {
    const reactive = <T extends object>(target: T): T =>
      new Proxy(target, {
        get(target, key, receiver) {
          const value: unknown = Reflect.get(target, key, receiver);
          const isPlain = Object.prototype.toString.call(value) === '[object Object]';
          return isPlain ? reactive(value as object) : value;
        },
      });
    const state = reactive({ image: await window.decant.open(window.file) });
    await state.image.read(0, 512);
    await state.image.convert({ opfs: 'out.raw' });
    await state.image.close();
  });
  expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(raw));
});

test(
  'two copies of the package do not disturb each other, and know the errors of the other',
  { tag: '@full' },
  async ({ apiPage: page }) => {
    const { image, raw } = sparse(64 << 20);
    await giveFile(page, image);
    const told = await page.evaluate(async () => {
      const url = '/dist/browser.js?copy';
      const other: Decant = await import(url);
      const { decant } = window;
      const convert = async (copy: Decant, opfs: string) => {
        const image = await copy.open(window.file);
        await image.convert({ opfs });
        await image.close();
      };
      await Promise.all([convert(decant, 'one.raw'), convert(other, 'two.raw')]);
      const failure: unknown = await other.open(new Blob(['no image'])).catch((error) => error);
      const posted: unknown = structuredClone(JSON.parse(JSON.stringify(failure)));
      return {
        isOther: other !== decant,
        known: [failure, posted, new Error('of somebody else'), undefined].map((each) => decant.DecantError.is(each)),
        kind: decant.DecantError.is(posted) ? posted.kind : undefined,
      };
    });
    expect(told).toEqual({ isOther: true, known: [true, true, false, false], kind: 'not-recognised' });
    for (const name of ['one.raw', 'two.raw']) expect(await hashOpfs(page, name)).toBe(hashFile(raw));
  },
);

test('files of another version of the package are left alone', async ({ apiPage: page }) => {
  await page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    for (const folder of ['.decant-0', '.decant-1']) {
      const files = await root.getDirectoryHandle(folder, { create: true });
      await files.getFileHandle('left over', { create: true });
    }
    await window.decant.removeLeftovers();
  });
  expect(await names(page, '.decant-0')).toEqual(['left over']);
  expect(await names(page, '.decant-1')).toEqual([]);
});

test('dispose ends every worker and operation at once', async ({ apiPage: page }) => {
  await giveFile(page, images.endless());
  const told = await page.evaluate(async () => {
    const image = await window.decant.open(window.file);
    const silent = { size: 1 << 20, read: () => new Promise<never>(() => {}) };
    const failures = [image.convert({ opfs: 'out.raw' }), window.decant.open(silent)].map((work) =>
      work.then(
        () => 'done',
        ({ kind }: { kind: string }) => kind,
      ),
    );
    await window.decant.dispose();
    return Promise.all(failures);
  });
  // The conversion would take years.
  expect(told).toEqual(['cancelled', 'cancelled']);
  await expect.poll(() => page.workers().length).toBe(0);
  expect(await names(page, '.decant-1')).toEqual([]);
  await giveFile(page, images.tiny());
  expect(await page.evaluate(async () => (await window.decant.open(window.file)).info.format)).toBe('qcow2');
});

const RUNS = byScope({ short: 10, full: 50 });

test(`${RUNS} conversions and ${RUNS} that are cancelled leave nothing behind`, async ({ apiPage: page }) => {
  await giveFile(page, images.kinds());
  const session = await page.context().newCDPSession(page);
  const used = async () => {
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize = 0 } = (await session.send('Runtime.getHeapUsage')) as {
      usedSize: number;
      backingStorageSize?: number;
    };
    return usedSize + backingStorageSize;
  };
  const run = (times: number) =>
    page.evaluate(async (times) => {
      for (let run = 0; run < times; run += 1) {
        const image = await window.decant.open(window.file);
        await image.convert({ opfs: 'out.raw' });
        const controller = new AbortController();
        const cancelled = image.convert({ opfs: 'cancelled.raw' }, { signal: controller.signal });
        controller.abort();
        await cancelled.catch(() => {});
        await image.close();
      }
    }, times);
  await run(5);
  const before = await used();
  await run(RUNS);
  const grown = (await used()) - before;
  expect(grown).toBeLessThan(1 << 20);
  expect(page.workers().length).toBeLessThanOrEqual(1 + (await page.evaluate(() => navigator.hardwareConcurrency)));
  await page.evaluate(() => window.decant.dispose());
  await expect.poll(() => page.workers().length).toBe(0);
  expect(await names(page, '.decant-1')).toEqual([]);
});

test.describe('what a page can convert to', () => {
  test.use({ isolated: false });

  const obstacles = (frame: Frame): Promise<Record<string, string | undefined>> =>
    frame.evaluate(async () => {
      const url = '/dist/browser.js';
      const { targets }: Decant = await import(url);
      return Object.fromEntries((await targets()).map(({ name, refusal }) => [name, refusal?.message ?? 'none']));
    });

  test('on a page by itself', async ({ page }) => {
    await page.goto('/blank');
    const all = ['file handle', 'folder', 'opfs', 'download', 'stream', 'target'];
    expect(await obstacles(page.mainFrame())).toEqual(Object.fromEntries(all.map((name) => [name, 'none'])));
  });

  test('in a frame of another site, which converts to its own target', async ({ page, servers }) => {
    const { plain } = servers;
    const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'";
    plain.headers['Content-Security-Policy'] = `${policy}; frame-src *`;
    plain.scripts.set('/host.html', `<iframe src="${plain.url.replace('localhost', '127.0.0.1')}/blank"></iframe>`);
    try {
      await page.goto('/host.html');
      const frame = page.frames()[1]!;
      expect(await obstacles(frame)).toMatchObject({
        'file handle': 'Browsers show no file picker in a cross-origin frame',
        folder: 'Browsers show no file picker in a cross-origin frame',
        opfs: expect.stringMatching(/storage, which this browser does not allow in a cross-origin frame$/),
        target: 'none',
      });
      await frame.locator('input').setInputFiles(images.kinds());
      const written = await frame.evaluate(async () => {
        const url = '/dist/browser.js';
        const { open }: Decant = await import(url);
        const image = await open(document.querySelector('input')!.files![0]!);
        let written = 0;
        const result = await image.convert({
          write: async (_offset, bytes) => {
            written += bytes.length;
          },
          hole: async (_offset, length) => {
            written += length;
          },
          close: async () => {},
          abort: async () => {},
        });
        await image.close();
        return { written, size: result.outputSize };
      });
      expect(written.written).toBe(written.size);
    } finally {
      plain.headers = {};
      plain.scripts.clear();
    }
  });

  for (const [sandbox, obstacle, kind, tag] of [
    ['allow-scripts allow-same-origin', /is sandboxed and blocks downloads.*'allow-downloads'/, 'usage', []],
    ['allow-scripts allow-same-origin allow-downloads', /^none$/, 'done', ['@full']],
  ] as const) {
    test(`in a frame with sandbox="${sandbox}"`, { tag: [...tag] }, async ({ page, servers }) => {
      const { plain } = servers;
      plain.scripts.set('/host.html', `<iframe sandbox="${sandbox}" src="/blank"></iframe>`);
      try {
        await page.goto('/host.html');
        const frame = page.frames()[1]!;
        expect(await obstacles(frame)).toMatchObject({ opfs: 'none', download: expect.stringMatching(obstacle) });
        await frame.locator('input').setInputFiles(images.kinds());
        const downloading = kind === 'done' ? page.waitForEvent('download') : undefined;
        const told = await frame.evaluate(async () => {
          const url = '/dist/browser.js';
          const { open }: Decant = await import(url);
          const image = await open(document.querySelector('input')!.files![0]!);
          const convert = image.convert({ download: 'out.raw' });
          const told = await convert.then(
            () => 'done',
            ({ kind }: { kind: string }) => kind,
          );
          await image.close();
          return told;
        });
        expect(told).toBe(kind);
        await downloading;
      } finally {
        plain.scripts.clear();
      }
    });
  }

  test('in a sandboxed frame without an origin', async ({ page, servers }) => {
    const { plain } = servers;
    plain.headers = { 'Access-Control-Allow-Origin': '*', 'Content-Security-Policy': 'frame-src *' };
    plain.scripts.set('/host.html', `<iframe sandbox="allow-scripts" src="/blank"></iframe>`);
    try {
      await page.goto('/host.html');
      const needed = /storage, which is available in a sandboxed frame only with 'allow-same-origin'$/;
      expect(await obstacles(page.frames()[1]!)).toMatchObject({
        opfs: expect.stringMatching(needed),
        download: expect.stringMatching(needed),
        target: 'none',
      });
      const opened = page.frames()[1]!.evaluate(async () => {
        const url = '/dist/browser.js';
        const { open }: Decant = await import(url);
        return open(new Uint8Array(512)).then(
          () => 'open',
          ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
        );
      });
      const sandboxed =
        "The frame of this page is sandboxed and has no workers; add 'allow-same-origin' to its sandbox";
      expect(await opened).toBe(`worker-not-started: ${sandboxed}`);
    } finally {
      plain.headers = {};
      plain.scripts.clear();
    }
  });

  test('over plain http', async ({ servers, launchOptions }) => {
    const rules = '--host-resolver-rules=MAP decant.test 127.0.0.1';
    const browser = await chromium.launch({ ...launchOptions, args: [...launchOptions.args!, rules] });
    const page = await browser.newPage();
    await page.goto(`${servers.plain.url.replace('localhost', 'decant.test')}/blank`);
    expect(await obstacles(page.mainFrame())).toMatchObject({
      folder: 'File pickers are available only over https or on localhost',
      opfs: expect.stringMatching(/storage, which is available only over https or on localhost$/),
      target: 'none',
    });
    await browser.close();
  });
});
