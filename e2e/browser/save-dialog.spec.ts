// A real save dialog: headed Chromium on a display of its own, operated by xdotool, and the file on
// the disk.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from '@playwright/test';
import { expect, type Page, test } from '../support/browser.js';
import { diskUsage, hashFile, images } from '../support/images.js';

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

let display: ChildProcess;
/** Xvfb chooses one that is free. */
let DISPLAY = '';

const xdotool = (...args: string[]) =>
  execFileSync('xdotool', args, {
    encoding: 'utf8',
    env: { ...process.env, DISPLAY },
    stdio: ['ignore', 'pipe', 'ignore'],
  });

/** Types `path` into the dialog and clicks on Save. */
async function save(path: string): Promise<void> {
  let dialog = '';
  for (let tries = 0; dialog === '' && tries < 100; tries += 1) {
    await pause(100);
    try {
      dialog = xdotool('search', '--onlyvisible', '--name', 'this site can see edits').trim().split('\n')[0]!;
    } catch {
      // Not there yet.
    }
  }
  await pause(500);
  xdotool('windowfocus', dialog);
  xdotool('key', 'ctrl+a');
  xdotool('type', path);
  await pause(300);
  const { width, height } = /WIDTH=(?<width>\d+)\nHEIGHT=(?<height>\d+)/.exec(
    xdotool('getwindowgeometry', '--shell', dialog),
  )!.groups as { width: string; height: string };
  xdotool('mousemove', '--window', dialog, String(Number(width) - 50), String(Number(height) - 24), 'click', '1');
}

test.beforeAll(async () => {
  display = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '1280x1024x24'], { stdio: ['ignore', 'pipe', 'ignore'] });
  DISPLAY = await new Promise((resolve) => display.stdout!.once('data', (data) => resolve(`:${String(data).trim()}`)));
});

test.afterAll(() => {
  display.kill();
});

async function withPage(url: string, launch: object, work: (page: Page) => Promise<void>): Promise<void> {
  const browser = await chromium.launch({ ...launch, headless: false, env: { ...process.env, DISPLAY } });
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
      await save(join(folder, 'disk.raw'));
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
    await save(join(folder, 'disk.raw'));
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
    await save(join(folder, 'disk.raw'));
    await expect(page.getByRole('heading', { name: 'Finishing' })).toBeVisible({ timeout: 30_000 });
    await page.getByRole('button', { name: 'Cancel' }).click();
    await expect(page.getByText('cannot be stopped while it finishes')).toBeVisible();
    await expect(page.getByRole('heading', { name: 'Cancelled. Nothing was left behind.' })).toBeVisible({
      timeout: 60_000,
    });
    expect(readdirSync(folder)).toEqual([]);
  });
});
