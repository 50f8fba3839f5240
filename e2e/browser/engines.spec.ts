// Both engines, isolated and not, to every target: the bytes equal those of qemu-img.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from '@playwright/test';
import { ENGINES, expect, giveFile, hashOpfs, loadApi, storage, test } from '../support/browser.js';
import { DISK_SIZE, diskUsage, expectSame, hashFile, images, PASSWORD, sparse } from '../support/images.js';
import { watchUnhandled } from '../support/unhandled.js';

type Route = 'opfs' | 'handle' | 'download';
type Engine = 'threads' | 'workers';

interface Row {
  isolated: boolean;
  engine: Engine;
  workers: number;
  image: 'zlib' | 'plain' | 'scattered' | 'tiny' | 'zstd' | 'luks';
  route: Route;
}

/** Each engine with each target. */
const SHORT: Row[] = [
  { isolated: true, engine: 'threads', workers: 2, image: 'plain', route: 'opfs' },
  { isolated: true, engine: 'threads', workers: 2, image: 'zlib', route: 'download' },
  { isolated: false, engine: 'workers', workers: 2, image: 'luks', route: 'handle' },
];

const FULL: Row[] = [
  { isolated: true, engine: 'workers', workers: 2, image: 'zlib', route: 'opfs' },
  { isolated: true, engine: 'threads', workers: 3, image: 'scattered', route: 'handle' },
  { isolated: false, engine: 'workers', workers: 2, image: 'zlib', route: 'download' },
  { isolated: true, engine: 'threads', workers: 1, image: 'zlib', route: 'opfs' },
  { isolated: true, engine: 'threads', workers: 2, image: 'tiny', route: 'opfs' },
  { isolated: true, engine: 'threads', workers: 2, image: 'zstd', route: 'opfs' },
  { isolated: true, engine: 'threads', workers: 2, image: 'luks', route: 'opfs' },
  { isolated: false, engine: 'workers', workers: 1, image: 'zlib', route: 'opfs' },
  { isolated: false, engine: 'workers', workers: 2, image: 'zstd', route: 'opfs' },
  { isolated: false, engine: 'workers', workers: 2, image: 'plain', route: 'opfs' },
  { isolated: false, engine: 'workers', workers: 3, image: 'scattered', route: 'handle' },
  { isolated: false, engine: 'workers', workers: 2, image: 'tiny', route: 'handle' },
];

for (const row of [...SHORT, ...FULL]) {
  const { isolated, engine, workers, image, route } = row;
  const tag = SHORT.includes(row) ? [] : '@full';
  test.describe(`${isolated ? 'isolated' : 'not isolated'}, ${engine}`, () => {
    test.use({ isolated });

    test(`${workers} decode ${image}, by ${route}`, { tag }, async ({ apiPage: page }, testInfo) => {
      await giveFile(page, images[image]());
      const downloading = route === 'download' ? page.waitForEvent('download') : undefined;
      const result = await page.evaluate(
        async ({ engine, workers, route, password }) => {
          const image = await window.decant.open(window.file, { engine, workers, password });
          const root = await navigator.storage.getDirectory();
          const output = {
            opfs: async () => ({ opfs: 'out.raw' }),
            handle: () => root.getFileHandle('out.raw', { create: true }),
            download: async () => ({ download: 'out.raw' }),
          }[route];
          const phases = new Set<string>();
          const onProgress = (progress: { phase: string }) => phases.add(progress.phase);
          const result = await image.convert(await output(), { onProgress });
          await image.close();
          return { ...result, phases: [...phases] };
        },
        { engine, workers, route, password: PASSWORD },
      );
      expect(result).toMatchObject({ engine, workers, virtualSize: DISK_SIZE });
      const unlocking = image === 'luks' ? ['unlocking'] : [];
      expect(result.phases).toEqual(['preparing', ...unlocking, 'converting', 'finalizing']);
      const expected = images.raw();
      if (downloading) {
        const path = testInfo.outputPath('out.raw');
        await (await downloading).saveAs(path);
        expect(hashFile(path)).toBe(hashFile(expected));
      } else {
        expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(expected));
        expect((await storage(page)).names).toEqual(['out.raw']);
      }
      // Within 10 % of the size of qemu-img's output.
      expect(result.bytesWritten).toBeLessThan(diskUsage(expected) * 1.1);
      expect(result.bytesWritten + result.holeBytes).toBe(result.virtualSize);
    });
  });
}

for (const [engine, details] of ENGINES) {
  test(
    `a file of the private file system is sparse on the disk, ${engine}`,
    details,
    async ({ launchOptions, servers }, testInfo) => {
      const size = 512 << 20;
      const { image, raw } = sparse(size);
      const profile = testInfo.outputPath('profile');
      const context = await chromium.launchPersistentContext(profile, launchOptions);
      const check = watchUnhandled(context);
      try {
        const page = await context.newPage();
        await page.goto(`${servers.isolated.url}/blank`);
        await loadApi(page);
        await giveFile(page, image);
        await page.evaluate(async (engine) => {
          const image = await window.decant.open(window.file, { engine });
          await image.convert({ opfs: 'out.raw' });
          await image.close();
        }, engine);
        const files = readdirSync(join(profile, 'Default', 'File System'), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name))
          .filter((path) => statSync(path).size === size);
        expect(files).toHaveLength(1);
        expectSame(files[0]!, raw);
        expect(diskUsage(files[0]!)).toBeLessThan(diskUsage(raw) * 1.1);
        check();
      } finally {
        await context.close();
      }
    },
  );
}

test(
  'what is prepared for an engine is used by the conversion that follows, and a failure is reported',
  { tag: '@full' },
  async ({ apiPage: page }) => {
    await giveFile(page, images.kinds());
    for (const engine of ['threads', 'workers'] as const) {
      const started = await page.evaluate(async (engine) => {
        let workers = 0;
        const original = window.Worker;
        window.Worker = class extends original {
          constructor(url: string | URL, options?: WorkerOptions) {
            super(url, options);
            workers += 1;
          }
        };
        await window.decant.prepare({ engine, workers: 2 });
        const prepared = workers;
        const image = await window.decant.open(window.file, { engine, workers: 2 });
        await image.convert({ opfs: 'out.raw' });
        await image.close();
        await window.decant.dispose();
        window.Worker = original;
        return { prepared, later: workers - prepared };
      }, engine);
      // A coordinator, and two workers, or one that starts threads.
      expect(started, engine).toEqual({ prepared: engine === 'threads' ? 2 : 3, later: 0 });
    }
    const kinds = await page.evaluate(() =>
      Promise.all(
        [{ workers: 0 }, { engine: 'none' as 'auto' }].map((options) =>
          window.decant.prepare(options).catch(({ kind }) => kind),
        ),
      ),
    );
    expect(kinds).toEqual(['usage', 'usage']);
  },
);
