// Which files are one: two objects of one name, size and time may be two files, and one file may come as two objects.

import { copyFileSync, mkdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type Page, test } from '../support/browser.js';
import { hashFile, images } from '../support/images.js';
import { choose, drop } from '../support/page.js';

/** Copies of `paths`, each in a folder of its own, all of the name `name` and of one time. */
function alike(folder: string, name: string, paths: string[]): string[] {
  return paths.map((path, at) => {
    mkdirSync(join(folder, String(at)), { recursive: true });
    const copy = join(folder, String(at), name);
    copyFileSync(path, copy);
    utimesSync(copy, 1_700_000_000, 1_700_000_000);
    return copy;
  });
}

/**
 * Pastes each group of files, which come without handles: each time as objects of their own. By default, a group does
 * not wait for what the one before has begun; `isWaiting` lets it wait until the page shows that it opens an image.
 */
async function paste(page: Page, groups: string[][], isWaiting = false): Promise<void> {
  await page.evaluate(() => {
    const input = Object.assign(document.createElement('input'), { type: 'file', multiple: true, id: 'pasted' });
    document.body.append(input);
  });
  await page.locator('#pasted').setInputFiles(groups.flat());
  await page.evaluate(
    async ([counts, isWaiting]) => {
      const root = document.querySelector('decant-converter')!.shadowRoot!;
      const opening = () =>
        new Promise<void>((resolve) => {
          const observer = new MutationObserver(() => {
            if (!root.textContent?.includes('Reading')) return;
            observer.disconnect();
            resolve();
          });
          observer.observe(root, { childList: true, subtree: true, characterData: true });
        });
      const input = document.querySelector<HTMLInputElement>('#pasted')!;
      const files = [...input.files!];
      input.remove();
      for (const count of counts) {
        const clipboardData = new DataTransfer();
        for (const file of files.splice(0, count)) clipboardData.items.add(file);
        const shown = isWaiting && files.length > 0 ? opening() : undefined;
        document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
        await shown;
      }
    },
    [groups.map(({ length }) => length), isWaiting] as const,
  );
}

async function expectNoQueue(page: Page): Promise<void> {
  await expect(page.getByRole('region', { name: 'Queue' })).toHaveCount(0);
  await expect(page.getByText('Not used')).toHaveCount(0);
}

test.describe('the package', () => {
  test('two companions of one name, size and time are two files', async ({ apiPage: page }, testInfo) => {
    const { top, below, raw } = images.vdiChain();
    await page.locator('input').setInputFiles([top, ...alike(testInfo.outputDir, 'disk.vdi', below)]);
    const seen = await page.evaluate(async () => {
      const [image, ...companions] = document.querySelector('input')!.files!;
      const times = companions.map(({ name, size, lastModified }) => `${name}, ${size}, ${lastModified}`);
      const opened = await window.decant.open(image!, { companions });
      await opened.convert({ opfs: 'out.raw' });
      await opened.close();
      const file = await (await (await navigator.storage.getDirectory()).getFileHandle('out.raw')).getFile();
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', await file.arrayBuffer()));
      const hash = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
      return { alike: new Set(times).size, layers: opened.info.layers.map(({ name }) => name), hash };
    });
    expect(seen).toEqual({ alike: 1, layers: ['c.vdi', 'disk.vdi', 'disk.vdi'], hash: hashFile(raw) });
  });

  test(
    'a file that comes twice is one by its object or its handles, and two otherwise',
    { tag: '@full' },
    async ({ apiPage: page }) => {
      const { top, below } = images.vdiChain();
      await page.locator('input').setInputFiles([top, ...below]);
      const opened = await page.evaluate(async () => {
        const root = await navigator.storage.getDirectory();
        const [image, middle, base] = document.querySelector('input')!.files!;
        const writable = await (await root.getFileHandle('middle', { create: true })).createWritable();
        await writable.write(middle!);
        await writable.close();
        const handle = () => root.getFileHandle('middle');
        const twins: [string, (File | FileSystemFileHandle)[]][] = [
          ['object', [middle!, middle!]],
          ['handles', [await handle(), await handle()]],
          ['objects', [await (await handle()).getFile(), await (await handle()).getFile()]],
        ];
        const outcomes: Record<string, unknown> = {};
        for (const [what, files] of twins) {
          outcomes[what] = await window.decant.open(image!, { companions: [...files, base!] }).then(
            async (opened) => {
              await opened.close();
              return opened.info.unusedCompanions;
            },
            ({ kind }) => kind,
          );
        }
        return outcomes;
      });
      expect(opened).toEqual({ object: [], handles: [], objects: 'usage' });
    },
  );
});

test.describe('the page', () => {
  test.beforeEach(async ({ page }) => {
    await page.goto('/');
    await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
  });

  // Chromium numbers the names of one drop.
  for (const [how, hand, second, tag] of [
    ['chosen', choose, 'disk.vdi', ['@full']],
    ['dropped', (page: Page, ...paths: string[]) => drop(page, paths), 'disk (1).vdi', ['@full']],
  ] as const) {
    test(`two parents of one name, size and time, ${how} together`, { tag: [...tag] }, async ({ page }, testInfo) => {
      const { top, below, raw } = images.vdiChain();
      await hand(page, top, ...alike(testInfo.outputPath('files'), 'disk.vdi', below));
      await expect(page.getByText(`c.vdi, disk.vdi, ${second}`)).toBeVisible();
      await expectNoQueue(page);
      await page.getByRole('radio', { name: 'As a download' }).click();
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Convert', exact: true }).click();
      const path = testInfo.outputPath('out.raw');
      await (await download).saveAs(path);
      expect(hashFile(path)).toBe(hashFile(raw));
    });
  }

  for (const [when, isWaiting] of [
    ['at once', false],
    ['while the image is opened with the first', true],
  ] as const) {
    test(
      `two parents of one name, size and time, pasted one after the other, ${when}`,
      { tag: '@full' },
      async ({ page }, testInfo) => {
        const { top, below } = images.vdiChain();
        const [middle, base] = alike(testInfo.outputPath('files'), 'disk.vdi', below);
        await choose(page, top);
        await expect(page.getByRole('heading', { name: 'c.vdi needs another file' })).toBeVisible();
        await paste(page, [[base!], [middle!]], isWaiting);
        await expect(page.getByText('c.vdi, disk.vdi, disk.vdi')).toBeVisible();
        await expectNoQueue(page);
      },
    );
  }

  for (const [how, again, tag] of [
    ['pasted', (page: Page, ...paths: string[]) => paste(page, [paths]), ['@full']],
    ['dropped', (page: Page, ...paths: string[]) => drop(page, paths), ['@full']],
  ] as const) {
    test(`files ${how} once more, with what was missing, are the same`, { tag: [...tag] }, async ({ page }) => {
      const { top, below } = images.chain();
      await choose(page, top);
      await expect(page.getByRole('heading', { name: 'Also add middle.qcow2' })).toBeVisible();
      await again(page, below[1]!, images.kinds());
      await expect(page.getByText("not match the missing file's name").first()).toBeVisible();
      await again(page, top, ...below, images.kinds());
      await expect(page.getByText('top.qcow2, middle.qcow2, base.qcow2')).toBeVisible();
      const rows = page.getByRole('region', { name: 'Queue' }).getByRole('listitem');
      await expect(rows).toContainText(['top.qcow2 open now', 'kinds.qcow2 waiting']);
      await expect(rows).toHaveCount(2);
      await expect(page.getByText('Not used')).toHaveCount(0);
    });
  }

  test(
    'a base under another name, dropped and then chosen by the button, is listed once',
    { tag: '@full' },
    async ({ page }, testInfo) => {
      const { top, below } = images.chain();
      const [other] = alike(testInfo.outputPath('files'), 'other.qcow2', [below[1]!]);
      await choose(page, top, below[0]!);
      await expect(page.getByRole('heading', { name: 'Also add base.qcow2' })).toBeVisible();
      await drop(page, other!);
      await expect(page.locator('.bad')).toHaveText("other.qcow2 does not match the missing file's name.");
      await page.getByLabel('Choose the backing file').setInputFiles(other!);
      await page.getByRole('button', { name: 'Use it anyway' }).click();
      await expect(page.getByText('top.qcow2, middle.qcow2, other.qcow2')).toBeVisible();
      await expectNoQueue(page);
    },
  );
});
