// Images in compressed files that are read in place: the right bytes without a temporary file, and without a question.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ENGINES, expect, giveFile, hashOpfs, type Page, storage, test } from '../support/browser.js';
import { hashFile, images, small } from '../support/images.js';
import { choose } from '../support/page.js';

/** An xz file of `image` and many zeros, in blocks: more than is decoded in memory as a whole. */
function inBlocks(folder: string, image: string): string {
  const file = join(folder, 'a.qcow2.xz');
  const content = `{ cat '${image}'; head -c ${65 << 20} /dev/zero; }`;
  execFileSync('bash', ['-o', 'pipefail', '-c', `${content} | xz -0 -T2 --block-size=4MiB > '${file}'`]);
  return file;
}

/** The temporary files in the storage. */
const stored = async (page: Page) => (await storage(page)).names.filter((name) => name.startsWith('.decant'));

for (const [engine] of ENGINES) {
  test(
    `${engine}: an image in blocks of xz is read in place`,
    { tag: '@full' },
    async ({ apiPage: page }, testInfo) => {
      await giveFile(page, inBlocks(testInfo.outputPath('.'), images.plain()));
      const seen = await page.evaluate(async (engine) => {
        const image = await window.decant.open(window.file, { engine });
        const { format, containers } = image.info;
        await image.convert({ opfs: 'out' });
        await image.close();
        return { format, containers };
      }, engine);
      expect(seen).toEqual({ format: 'qcow2', containers: [{ name: 'xz' }] });
      expect(await hashOpfs(page, 'out')).toBe(hashFile(images.raw()));
      expect(await stored(page)).toEqual([]);
    },
  );
}

test('the page converts a small image in gzip without a question', async ({ page }, testInfo) => {
  const folder = testInfo.outputPath('.');
  const file = join(folder, 'a.qcow2.gz');
  execFileSync('bash', ['-c', `gzip -1c '${small.zlib()}' > '${file}'`]);
  await page.goto('/');
  await choose(page, file);
  await page.getByRole('radio', { name: 'As a download' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  await (await download).saveAs(join(folder, 'a.raw'));
  expect(hashFile(join(folder, 'a.raw'))).toBe(hashFile(small.raw()));
});
