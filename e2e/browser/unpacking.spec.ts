// Images that must be unpacked into the browser's storage first: the page asks once, and nothing is left at any end.

import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ENGINES, expect, giveFile, hashOpfs, type Page, storage, test } from '../support/browser.js';
import { hashFile, images } from '../support/images.js';
import { choose, look } from '../support/page.js';
import { byScope } from '../support/scope.js';

/** More than is decoded in memory. */
const LONG = 65 << 20;

/** A compressed file of `image` and many zeros, called `name`. */
function packed(folder: string, name: string, command: string, image: string): string {
  const file = join(folder, name);
  execFileSync('bash', [
    '-o',
    'pipefail',
    '-c',
    `{ cat '${image}'; head -c ${LONG} /dev/zero; } | ${command} > '${file}'`,
  ]);
  return file;
}

/** The temporary files in the storage. Workers that were ended may hold one for a moment. */
const left = async (page: Page) => (await storage(page)).names.filter((name) => name.startsWith('.decant'));

/** The sizes of the temporary files in the storage. */
const sizesLeft = (page: Page): Promise<number[]> =>
  page.evaluate(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('.decant-1');
    const sizes: number[] = [];
    for await (const entry of folder.values()) {
      // It may be removed at any time.
      const file = await (entry as FileSystemFileHandle).getFile().catch(() => undefined);
      if (file) sizes.push(file.size);
    }
    return sizes;
  });

for (const [engine, details] of ENGINES) {
  test(`${engine}: an image in gzip is unpacked and converted`, details, async ({ apiPage: page }, testInfo) => {
    await giveFile(page, packed(testInfo.outputPath('.'), 'a.qcow2.gz', 'gzip -1c', images.zlib()));
    const seen = await page.evaluate(async (engine) => {
      const refusal = await window.decant.open(window.file).catch(({ code, fields }) => ({ code, fields }));
      let read = 0;
      const onProgress = ({ bytesRead = 0 }: { bytesRead?: number }) => {
        read = bytesRead;
      };
      const options = { engine, spool: true, onProgress };
      const image = await window.decant.open(window.file, options);
      const { format, containers } = image.info;
      await image.convert({ opfs: 'out' });
      await image.close();
      return { refusal, format, containers: containers.map(({ name }) => name), isShown: read > 1_000_000 };
    }, engine);
    expect(seen).toEqual({
      refusal: {
        code: 'needs-spool',
        fields: { format: 'qcow2', container: 'gzip', containers: [{ name: 'gzip' }] },
      },
      format: 'qcow2',
      containers: ['gzip'],
      isShown: true,
    });
    expect(await hashOpfs(page, 'out')).toBe(hashFile(images.raw()));
    await expect.poll(() => left(page)).toEqual([]);
  });
}

test('a cancel and a closed image leave nothing', async ({ apiPage: page }, testInfo) => {
  await giveFile(page, packed(testInfo.outputPath('.'), 'a.qcow2.gz', 'gzip -1c', images.plain()));
  const kind = await page.evaluate(async () => {
    const abort = new AbortController();
    const options = { spool: true, signal: abort.signal, onProgress: () => abort.abort() };
    return window.decant.open(window.file, options).catch(({ kind }) => kind);
  });
  expect(kind).toBe('cancelled');
  await expect.poll(() => left(page)).toEqual([]);
});

test('the page asks once, and unpacks', async ({ page }, testInfo) => {
  const folder = testInfo.outputPath('.');
  const first = packed(folder, 'first.qcow2.gz', 'gzip -1c', images.zlib());
  const more = byScope({ short: [], full: [packed(folder, 'second.qcow2.xz', 'xz -0c', images.zlib())] });
  await page.goto('/');
  await choose(page, first, ...more);
  await expect(page.getByRole('heading', { name: 'first.qcow2.gz must be unpacked first' })).toBeFocused();
  await look(page, testInfo, 'packed');
  await page.getByRole('button', { name: 'Unpack' }).click();
  const names = byScope({ short: ['first'], full: ['first', 'second'] });
  for (const name of names) {
    await page.getByRole('radio', { name: 'As a download' }).click();
    const download = page.waitForEvent('download');
    expect(await sizesLeft(page)).toContain(statSync(images.zlib()).size + LONG);
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    const path = join(folder, `${name}.raw`);
    await (await download).saveAs(path);
    expect(hashFile(path)).toBe(hashFile(images.raw()));
    // The second image is unpacked without a question.
    if (name !== names.at(-1)) await page.getByRole('button', { name: 'Open the next image' }).click();
  }
  await page.getByRole('button', { name: 'Convert another image' }).click();
  // The copies that the browser saves stay for a while.
  await expect.poll(() => sizesLeft(page)).not.toContain(statSync(images.zlib()).size + LONG);
});
