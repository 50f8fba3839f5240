// The element of the packed package: in pages that Next has rendered on the server, and under trusted types.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { build, project } from '../support/consumers/project.js';
import { BASE, type ConsumerServer, serve } from '../support/consumers/server.js';
import { hashFile, small } from '../support/images.js';
import { NEXT_POLICY } from './consumers.js';

const MINUTE = 60_000;
test.describe.configure({ timeout: 12 * MINUTE });

const FOLDER = 'out-turbopack';
/** It starts workers by scripts from blobs. */
const POLICY = { ...NEXT_POLICY, 'worker-src': 'blob:' };

test.describe('Next 16', () => {
  let site: string;
  let server: ConsumerServer;
  test.beforeAll(async () => {
    const made = await project('next16-element', ['common', 'next', 'next-element', 'next16']);
    site = await build(made, 'build:turbopack', FOLDER, { NEXT_FOLDER: FOLDER });
    server = await serve({ site, images: {}, policy: POLICY });
  });
  test.afterAll(() => server?.close());

  /** Opens the page `name`, which has come from the server with the element in it or without, and gives it an image. */
  async function giveImage(page: Page, name: string, isRendered: boolean): Promise<void> {
    expect(readFileSync(join(site, `${name}.html`), 'utf8').includes('<decant-converter')).toBe(isRendered);
    await page.goto(`${server.origin}${BASE}${name}.html`);
    await page.waitForLoadState('networkidle');
    await page.locator('decant-converter input[type=file]').setInputFiles(small.zlib());
  }

  for (const [name, isRendered] of [
    ['with-ref', true],
    ['in-browser', false],
  ] as const) {
    test(`${name}: the disk is uploaded, and the page hears of it`, { tag: '@full' }, async ({ page }) => {
      server.uploads.clear();
      await giveImage(page, name, isRendered);
      await page.getByRole('button', { name: 'Convert', exact: true }).click();
      await expect(page.getByRole('heading', { name: /^Done:/ })).toBeVisible();
      expect([...server.uploads.values()]).toEqual([hashFile(small.raw())]);
      await expect(page.locator('output')).not.toHaveText('0');
    });
  }

  test('output dropped by hydration: the element says so, and saves nothing', { tag: '@full' }, async ({ page }) => {
    server.uploads.clear();
    const [reported, downloads]: [string[], string[]] = [[], []];
    page.on('pageerror', ({ message }) => reported.push(message));
    page.on('download', (download) => downloads.push(download.suggestedFilename()));
    await giveImage(page, 'dropped', true);
    await expect(
      page.getByText('This page wants to receive the disk itself, but is set up wrongly.').first(),
    ).toBeVisible();
    await expect(page.getByRole('button', { name: 'Convert', exact: true })).toHaveCount(0);
    expect(await page.evaluate(() => document.querySelector('decant-converter')!.output)).toBeUndefined();
    expect(reported).toEqual([expect.stringContaining('in React by a ref')]);
    expect({ downloads, uploads: server.uploads.size }).toEqual({ downloads: [], uploads: 0 });
  });
});

for (const [trusted, isEnough] of [
  ['decant lit-html', true],
  ['decant', false],
] as const) {
  test(`trusted types: ${trusted}`, { tag: '@full' }, async ({ page }) => {
    const { folder } = await project('trusted-types', ['trusted-types']);
    const policy = { 'require-trusted-types-for': "'script'", 'trusted-types': trusted };
    const server = await serve({ site: folder, images: {}, policy });
    try {
      await page.goto(`${server.origin}${BASE}`);
      if (!isEnough) {
        await expect(page.getByRole('alert')).toContainText('add lit-html to its trusted-types');
        return;
      }
      await page.locator('decant-converter input[type=file]').setInputFiles(small.zlib());
      await page.getByRole('button', { name: 'Convert', exact: true }).click();
      await expect(page.getByRole('heading', { name: /^Done:/ })).toBeVisible();
    } finally {
      await server.close();
    }
  });
}
