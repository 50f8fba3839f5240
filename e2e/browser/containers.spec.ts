// Raw disks in gzip, xz, zstd, bzip2 and lz4, images in tar archives, and streams as the image, in the browser.

import { execFileSync } from 'node:child_process';
import { existsSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CODEC_URLS } from '../../worker/public/registry.js';
import { ENGINES, expect, giveFile, hashOpfs, type Page, storage, test } from '../support/browser.js';
import { DISK_SIZE, hashFile, images } from '../support/images.js';
import { choose } from '../support/page.js';

/** The file that `pack` writes to standard output, beside the images; it is packed once. */
function packed(name: string, pack: string): string {
  const path = join(dirname(images.raw()), name);
  if (!existsSync(path)) {
    execFileSync('bash', ['-o', 'pipefail', '-c', `${pack} > '${path}.part'`]);
    renameSync(`${path}.part`, path);
  }
  return path;
}

const DISKS = {
  gzip: () => packed('packed-disk.gz', `gzip -1c '${images.raw()}'`),
  xz: () => packed('packed-disk.xz', `xz -0cT2 --block-size=1MiB '${images.raw()}'`),
  zstd: () => packed('packed-disk.zst', `zstd -qc '${images.raw()}'`),
  bzip2: () => packed('packed-disk.bz2', `bzip2 -1c '${images.raw()}'`),
  lz4: () => packed('packed-disk.lz4', `lz4 -qc '${images.raw()}'`),
};
const { gzip } = DISKS;

/** Converts `window.file`, or a stream of it, in the private file system. */
async function convert(page: Page, engine: 'threads' | 'workers', asStream = false) {
  return page.evaluate(
    async ({ engine, asStream }) => {
      const input = asStream ? window.file.stream() : window.file;
      const image = await window.decant.open(input, { engine, workers: 2 });
      const { containers, virtualSize } = image.info;
      const result = await image.convert({ opfs: 'out.raw' });
      await image.close();
      const notices = result.notices.map(({ code }) => code);
      return { container: containers[0]?.name, known: virtualSize !== undefined, size: result.virtualSize, notices };
    },
    { engine, asStream },
  );
}

for (const [engine, details] of ENGINES) {
  for (const [container, file] of Object.entries(DISKS)) {
    // Node converts all of them in the short run.
    const tags = container === 'xz' ? details : { tag: '@full' };
    test(`${engine}: a disk in ${container}, and as a stream`, tags, async ({ apiPage: page }) => {
      const loads: string[] = [];
      page.on('request', (request) => loads.push(basename(request.url())));
      await giveFile(page, file());
      for (const asStream of [false, true]) {
        expect(await convert(page, engine, asStream)).toEqual({
          container,
          known: false,
          size: DISK_SIZE,
          notices: ['guessed-raw'],
        });
        expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(images.raw()));
      }
      expect((await storage(page)).names).toEqual(['out.raw']);
      // Its codec is loaded once.
      const codecs = loads.filter((name) => name.endsWith('.wasm') && Object.hasOwn(CODEC_URLS, name.slice(0, -5)));
      expect(codecs).toEqual(container === 'gzip' ? [] : [`${container}.wasm`]);
    });
  }

  test(`${engine}: an image in a tar archive`, { tag: '@full' }, async ({ apiPage: page }) => {
    const image = images.zlib();
    await giveFile(page, packed('packed-image.tar', `tar -cf - -C '${dirname(image)}' '${basename(image)}'`));
    expect(await convert(page, engine)).toEqual({ container: 'tar', known: true, size: DISK_SIZE, notices: [] });
    expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(images.raw()));
  });
}

test('a disk in gzip becomes a download', { tag: '@full' }, async ({ apiPage: page }, testInfo) => {
  await giveFile(page, gzip());
  const begun = page.waitForEvent('download');
  await page.evaluate(async () => {
    const image = await window.decant.open(window.file);
    await image.convert({ download: 'disk.raw' });
    await image.close();
  });
  const path = testInfo.outputPath('disk.raw');
  await (await begun).saveAs(path);
  expect(hashFile(path)).toBe(hashFile(images.raw()));
});

for (const [container, file] of Object.entries(DISKS)) {
  test(`the page converts a disk in ${container}`, { tag: '@full' }, async ({ page }, testInfo) => {
    await page.goto('/');
    await choose(page, file());
    // Not the announcement of it.
    const notice = page.getByRole('listitem').filter({ hasText: 'it is read as raw' });
    await expect(notice).toBeVisible();
    await page.getByRole('radio', { name: 'As a download' }).click();
    const begun = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    const path = testInfo.outputPath('disk.raw');
    await (await begun).saveAs(path);
    expect(hashFile(path)).toBe(hashFile(images.raw()));
    // At the end, too.
    await expect(page.getByText('it is read as raw').first()).toBeVisible();
  });
}
