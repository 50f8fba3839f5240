// Both engines, isolated and not, by every route: the bytes are those of qemu-img.

import { expect, giveFile, hashOpfs, storage, test } from '../support/browser.js';
import { diskUsage, hashFile, images } from '../support/images.js';

type Route = 'opfs' | 'handle' | 'download';
type Engine = 'threads' | 'workers';

const rows: { isolated: boolean; engine: Engine; workers: number; image: keyof typeof images; route: Route }[] = [
  { isolated: true, engine: 'threads', workers: 1, image: 'zlib', route: 'opfs' },
  { isolated: true, engine: 'threads', workers: 2, image: 'plain', route: 'opfs' },
  { isolated: true, engine: 'threads', workers: 3, image: 'scattered', route: 'handle' },
  { isolated: true, engine: 'threads', workers: 2, image: 'tiny', route: 'opfs' },
  { isolated: true, engine: 'threads', workers: 2, image: 'zlib', route: 'download' },
  { isolated: true, engine: 'workers', workers: 2, image: 'zlib', route: 'opfs' },
  { isolated: false, engine: 'workers', workers: 1, image: 'zlib', route: 'opfs' },
  { isolated: false, engine: 'workers', workers: 2, image: 'plain', route: 'opfs' },
  { isolated: false, engine: 'workers', workers: 3, image: 'scattered', route: 'handle' },
  { isolated: false, engine: 'workers', workers: 2, image: 'tiny', route: 'handle' },
  { isolated: false, engine: 'workers', workers: 2, image: 'zlib', route: 'download' },
];

for (const row of rows) {
  const { isolated, engine, workers, image, route } = row;
  test.describe(`${isolated ? 'isolated' : 'not isolated'}, ${engine}`, () => {
    test.use({ isolated });

    test(`${workers} decode ${image}, by ${route}`, async ({ apiPage: page }, testInfo) => {
      await giveFile(page, images[image]());
      const downloading = route === 'download' ? page.waitForEvent('download') : undefined;
      const result = await page.evaluate(
        async ({ engine, workers, route }) => {
          const image = await window.decant.open(window.file);
          const root = await navigator.storage.getDirectory();
          const output = {
            opfs: async () => ({ opfs: 'out.raw' }),
            handle: () => root.getFileHandle('out.raw', { create: true }),
            download: async () => ({ download: 'out.raw' }),
          }[route];
          const phases = new Set<string>();
          const onProgress = (progress: { phase: string }) => phases.add(progress.phase);
          const result = await image.convert(await output(), { engine, workers, onProgress });
          await image.close();
          return { ...result, phases: [...phases] };
        },
        { engine, workers, route },
      );
      expect(result).toMatchObject({ engine, workers, virtualSize: 300 << 20 });
      expect(result.phases).toEqual(['preparing', 'converting', 'finalizing']);
      const expected = images.raw();
      if (downloading) {
        const path = testInfo.outputPath('out.raw');
        await (await downloading).saveAs(path);
        expect(hashFile(path)).toBe(hashFile(expected));
      } else {
        expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(expected));
        expect((await storage(page)).names).toEqual(['out.raw']);
      }
      // Within 10 % of what qemu-img's own output takes.
      expect(result.bytesWritten).toBeLessThan(diskUsage(expected) * 1.1);
      expect(result.bytesWritten + result.holeBytes).toBe(result.virtualSize);
    });
  });
}
