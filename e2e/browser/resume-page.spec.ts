// Downloads of the page that were cut off: it asks whether to go on.

import { statSync } from 'node:fs';
import type { BrowserContext } from '@playwright/test';
import { expect, type Page, storage, test } from '../support/browser.js';
import { hashFile, small } from '../support/images.js';
import { look } from '../support/page.js';
import { type SlowFile, serveSlowly } from '../support/slow.js';

const OPEN_TO_ALL = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Content-Range, ETag',
};

let remote: SlowFile;
test.beforeEach(async () => {
  remote = await serveSlowly(small.zlib(), undefined, OPEN_TO_ALL, 4000);
});
test.afterEach(() => remote.close());

/** Opens the page with the image, and asks for a download. */
async function begin(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  await page.goto('/');
  const field = page.getByRole('textbox', { name: /^Or the address/ });
  await field.fill(remote.url);
  await field.press('Enter');
  await page.getByRole('radio', { name: /As a download/ }).check();
  await page.getByRole('button', { name: 'Convert' }).click();
  return page;
}

/** Waits until it was noted a few times what of a disk is in the storage. */
async function noted(page: Page): Promise<void> {
  const lines = () =>
    page.evaluate(async () => {
      const root = await navigator.storage.getDirectory();
      for await (const [name, folder] of root.entries()) {
        if (!name.startsWith('.decant')) continue;
        for await (const [name, file] of (folder as FileSystemDirectoryHandle).entries()) {
          if (!name.endsWith('.journal')) continue;
          return (await (await (file as FileSystemFileHandle).getFile()).text()).split('\n').length;
        }
      }
      return 0;
    });
  await expect.poll(lines, { timeout: 30_000 }).toBeGreaterThan(4);
}

/** In bytes: a conversion from the beginning reads more, and one that goes on less. */
const nearlyAll = () => statSync(small.zlib()).size * 0.95;

const files = async (page: Page): Promise<number> => (await storage(page)).names.length;

async function cutOff(context: BrowserContext): Promise<void> {
  const page = await begin(context);
  await noted(page);
  await page.close();
  remote.sent = 0;
}

test('a tab that was closed: the page asks, goes on, and the disk is right', async ({ context }, testInfo) => {
  await cutOff(context);
  const page = await begin(context);
  await expect(page.getByRole('heading', { name: /^\d+ % of this disk is done already$/ })).toBeFocused();
  await look(page, testInfo, 'go-on');
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Go on' }).click();
  const bar = page.getByRole('progressbar');
  let shown = 0;
  const isShown = async () => {
    shown = await bar.evaluate((bar: HTMLProgressElement) => bar.value);
    return shown > 0;
  };
  await expect.poll(isShown, { intervals: [20] }).toBe(true);
  expect(shown).toBeGreaterThan(0.1);
  expect(hashFile(await (await downloading).path())).toBe(hashFile(small.raw()));
  expect(remote.sent).toBeLessThan(nearlyAll());
  expect(await files(page)).toBe(1);
});

test('a tab that was closed: the page asks, and begins anew', async ({ context }) => {
  await cutOff(context);
  const page = await begin(context);
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Begin anew' }).click();
  expect(hashFile(await (await downloading).path())).toBe(hashFile(small.raw()));
  expect(remote.sent).toBeGreaterThan(nearlyAll());
});

test('a cancel leaves nothing, and nothing is asked afterwards', async ({ context }) => {
  const page = await begin(context);
  await noted(page);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await expect(page.getByRole('heading', { name: 'Cancelled. Nothing was left behind.' })).toBeVisible();
  expect(await files(page)).toBe(0);
  await page.close();
  const again = await begin(context);
  const downloading = again.waitForEvent('download');
  expect(hashFile(await (await downloading).path())).toBe(hashFile(small.raw()));
});

test('after a failure the page says what is kept', async ({ context }, testInfo) => {
  const page = await begin(context);
  await noted(page);
  remote.refuses = true;
  const title = page.getByRole('heading', { name: 'disk.qcow2 could not be converted' });
  await expect(title).toBeVisible({ timeout: 30_000 });
  await expect(page.getByText(/^What was done is kept in the browser's storage for a week/)).toBeVisible();
  await expect(page.locator('decant-converter')).not.toContainText('with resume');
  await look(page, testInfo, 'failed');
});
