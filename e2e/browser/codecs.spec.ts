// Codecs: their wasm is loaded when an image or an output first needs it.

import { mkdirSync } from 'node:fs';
import { CODEC_URLS } from '../../worker/public/registry.js';
import { ENGINES, expect, giveFile, hashOpfs, type Page, test } from '../support/browser.js';
import { hashFile, images, PASSWORD } from '../support/images.js';
import { ova } from '../support/ova.js';

type Engine = 'workers' | 'threads';

/** The names of the codecs that `page` requests, in that order. */
function watchLoads(page: Page): string[] {
  const loads: string[] = [];
  page.on('request', (request) => {
    const [, name = ''] = /\/(\w+)\.wasm$/.exec(request.url()) ?? [];
    if (Object.hasOwn(CODEC_URLS, name)) loads.push(name);
  });
  return loads;
}

async function convert(page: Page, engine: Engine, formatOptions?: Record<string, string>) {
  return page.evaluate(
    async ([engine, formatOptions, password]) => {
      try {
        const image = await window.decant.open(window.file, { engine, password });
        try {
          const format = formatOptions ? { format: 'qcow2', formatOptions } : {};
          await image.convert({ opfs: 'out' }, format);
          return 'done';
        } finally {
          await image.close();
        }
      } catch (error) {
        const { kind, code, fields, message } = error as InstanceType<typeof window.decant.DecantError>;
        return { kind, code, fields, message };
      }
    },
    [engine, formatOptions, PASSWORD] as const,
  );
}

for (const [engine, details] of ENGINES) {
  test(
    `engine ${engine}: codecs are loaded for images and outputs that use them, once`,
    details,
    async ({ apiPage: page }, testInfo) => {
      const loads = watchLoads(page);
      const expectLoaded = async (path: string, codecs: string[], formatOptions?: Record<string, string>) => {
        await giveFile(page, path);
        expect(await convert(page, engine, formatOptions)).toBe('done');
        expect(loads.splice(0)).toEqual(codecs);
        if (!formatOptions) expect(await hashOpfs(page, 'out')).toBe(hashFile(images.raw()));
      };
      const folder = testInfo.outputPath('work');
      mkdirSync(folder, { recursive: true });
      await expectLoaded(images.zlib(), []);
      await expectLoaded(images.zstd(), ['zstd']);
      await expectLoaded(images.zlib(), [], { compress: 'on', compression_type: 'zstd' });
      await expectLoaded(images.zlib(), ['deflate'], { compress: 'on' });
      await expectLoaded(ova(folder, images.zlib(), hashFile(images.zlib())), ['crypt']);
      await expectLoaded(images.luks(), []);
    },
  );
}

for (const { name, image, details } of [
  { name: 'crypt', image: images.luks, details: { tag: '@full' } },
  { name: 'zstd', image: images.zstd, details: {} },
]) {
  test(
    `${name} that cannot be loaded is an error, and is loaded again for the next conversion`,
    details,
    async ({ apiPage: page }) => {
      const address = `**/${name}.wasm`;
      await giveFile(page, image());
      const place = await page.evaluate((name) => new URL(`/dist/${name}.wasm`, location.href).href, name);
      // Nothing, and the wasm of something else.
      for (const [answer, reason] of [
        [{ status: 503 }, '503'],
        [{ body: Buffer.from('\0asm\x01\0\0\0') }, `not the ${name}\\.wasm of this version`],
      ] as const) {
        await page.context().route(address, (route) => route.fulfill(answer));
        expect(await convert(page, 'workers')).toMatchObject({
          kind: 'internal',
          code: 'wasm-not-loaded',
          fields: { place },
          message: expect.stringMatching(
            `^Could not load .*${reason}.*; serve the package's ${name}\\.wasm there, .*configure\\(\\{ codec \\}\\)`,
          ),
        });
        await page.context().unroute(address);
      }
      expect(await convert(page, 'workers')).toBe('done');
      expect(await hashOpfs(page, 'out')).toBe(hashFile(images.raw()));
    },
  );

  test(
    `a part of an image that is read needs ${name} too`,
    name === 'crypt' ? {} : { tag: '@full' },
    async ({ apiPage: page }) => {
      const loads = watchLoads(page);
      await giveFile(page, image());
      const length = await page.evaluate(async (password) => {
        const image = await window.decant.open(window.file, { password });
        try {
          return (await image.read(0, 1 << 20)).length;
        } finally {
          await image.close();
        }
      }, PASSWORD);
      expect(length).toBe(1 << 20);
      expect(loads).toEqual([name]);
    },
  );
}
