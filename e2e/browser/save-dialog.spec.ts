// A real save dialog: headed Chromium on a display of its own, operated by xdotool, and the file on
// the disk.

import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from '@playwright/test';
import { expect, type Page, test } from '../support/browser.js';
import { diskUsage, hashFile, images } from '../support/images.js';
import { save, startDisplay } from '../support/save-dialog.mjs';

let display: { name: string; stop(): void };

test.beforeAll(async () => {
  display = await startDisplay();
});

test.afterAll(() => {
  display.stop();
});

async function withPage(url: string, launch: object, work: (page: Page) => Promise<void>): Promise<void> {
  const browser = await chromium.launch({ ...launch, headless: false, env: { ...process.env, DISPLAY: display.name } });
  try {
    const page = await browser.newPage();
    await page.goto(url);
    await work(page);
  } finally {
    await browser.close();
  }
}

async function choosePlace(page: Page, image: string): Promise<void> {
  await page.locator('input[type=file]').setInputFiles(image);
  await expect(page.getByText('Best for this image')).toBeVisible();
  await page.getByRole('radio', { name: 'To a place you pick' }).check();
  await page.getByRole('button', { name: 'Convert' }).click();
}

for (const image of ['zlib', 'plain'] as const) {
  test(`the page saves ${image} to a place that was picked`, async ({ servers, launchOptions }, testInfo) => {
    const folder = testInfo.outputPath('picked');
    mkdirSync(folder);
    await withPage(servers.isolated.url, launchOptions, async (page) => {
      await choosePlace(page, images[image]());
      await save(display.name, join(folder, 'disk.raw'));
      await expect(page.getByRole('heading', { name: 'Finishing' })).toBeVisible({ timeout: 60_000 });
      await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible({ timeout: 60_000 });
      await expect(page.getByText('The disk is in disk.raw')).toBeVisible();
    });
    expect(readdirSync(folder)).toEqual(['disk.raw']);
    expect(hashFile(join(folder, 'disk.raw'))).toBe(hashFile(images.raw()));
    expect(diskUsage(join(folder, 'disk.raw'))).toBeLessThan(diskUsage(images.raw()) * 1.1);
  });
}

test('after a cancel the file that the dialog made is gone', async ({ servers, launchOptions }, testInfo) => {
  const folder = testInfo.outputPath('picked');
  mkdirSync(folder);
  await withPage(servers.isolated.url, launchOptions, async (page) => {
    await choosePlace(page, images.plain());
    await save(display.name, join(folder, 'disk.raw'));
    await expect(page.getByText('left', { exact: false })).toBeVisible();
    expect(statSync(join(folder, 'disk.raw')).size).toBe(0);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await expect(page.getByRole('heading', { name: 'Cancelled. Nothing was left behind.' })).toBeVisible();
    await expect.poll(() => readdirSync(folder)).toEqual([]);
  });
});

test('a cancel while the browser finishes the file removes it afterwards', async ({
  servers,
  launchOptions,
}, testInfo) => {
  const folder = testInfo.outputPath('picked');
  mkdirSync(folder);
  await withPage(servers.isolated.url, launchOptions, async (page) => {
    await choosePlace(page, images.large());
    await save(display.name, join(folder, 'disk.raw'));
    await expect(page.getByRole('heading', { name: 'Finishing' })).toBeVisible({ timeout: 30_000 });
    await page.getByRole('button', { name: 'Cancel' }).click();
    await expect(page.getByText('cannot be stopped while it finishes')).toBeVisible();
    await expect(page.getByRole('heading', { name: 'Cancelled. Nothing was left behind.' })).toBeVisible({
      timeout: 60_000,
    });
    expect(readdirSync(folder)).toEqual([]);
  });
});
