// Codecs: their wasm is loaded when an image or an output first needs it.

import { expect, giveFile, hashOpfs, type Page, test } from '../support/browser.js';
import { hashFile, images } from '../support/images.js';

const ZSTD = '**/zstd.wasm';

/** Counts the requests for the wasm of zstd. */
function countLoads(page: Page): () => number {
  let loads = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('/zstd.wasm')) loads += 1;
  });
  return () => loads;
}

async function convert(page: Page, engine: 'workers' | 'threads', formatOptions?: Record<string, string>) {
  return page.evaluate(
    async ([engine, formatOptions]) => {
      const image = await window.decant.open(window.file, { engine });
      try {
        const format = formatOptions ? { format: 'qcow2', formatOptions } : {};
        await image.convert({ opfs: 'out' }, format);
        return 'done';
      } catch (error) {
        const { kind, code, fields, message } = error as InstanceType<typeof window.decant.DecantError>;
        return { kind, code, fields, message };
      } finally {
        await image.close();
      }
    },
    [engine, formatOptions] as const,
  );
}

for (const engine of ['workers', 'threads'] as const) {
  test(`engine ${engine}: zstd is loaded for images and outputs that use it, once`, async ({ apiPage: page }) => {
    const loads = countLoads(page);
    await giveFile(page, images.zlib());
    expect(await convert(page, engine)).toBe('done');
    expect(loads()).toBe(0);

    await giveFile(page, images.zstd());
    expect(await convert(page, engine)).toBe('done');
    expect(await hashOpfs(page, 'out')).toBe(hashFile(images.raw()));
    expect(loads()).toBe(1);

    await giveFile(page, images.zlib());
    expect(await convert(page, engine, { compress: 'on', compression_type: 'zstd' })).toBe('done');
    expect(loads()).toBe(1);
  });
}

test('zstd that cannot be loaded is an error, and is loaded again for the next conversion', async ({
  apiPage: page,
}) => {
  await page.context().route(ZSTD, (route) => route.fulfill({ status: 503 }));
  await giveFile(page, images.zstd());
  const place = await page.evaluate(() => new URL('/dist/zstd.wasm', location.href).href);
  expect(await convert(page, 'workers')).toMatchObject({
    kind: 'internal',
    code: 'wasm-not-loaded',
    fields: { place },
    message: expect.stringMatching(
      /^Could not load .*503; serve the package's zstd.wasm there, .*configure\(\{ codec \}\)/,
    ),
  });
  await page.context().unroute(ZSTD);
  expect(await convert(page, 'workers')).toBe('done');
  expect(await hashOpfs(page, 'out')).toBe(hashFile(images.raw()));
});

test('a part of an image that is read needs zstd too', async ({ apiPage: page }) => {
  const loads = countLoads(page);
  await giveFile(page, images.zstd());
  const length = await page.evaluate(async () => {
    const image = await window.decant.open(window.file);
    try {
      return (await image.read(0, 1 << 20)).length;
    } finally {
      await image.close();
    }
  });
  expect(length).toBe(1 << 20);
  expect(loads()).toBe(1);
});
