// What the element does before there is an image: nothing until the person drags a file over it or looks for one.

import { expect, type Page, test } from '../support/browser.js';
import { closeHost, openHost } from '../support/host-page.js';
import { images } from '../support/images.js';
import { dragOver } from '../support/page.js';

test.use({ isolated: false });

test.afterEach(({ servers }) => closeHost(servers.plain));

const ELEMENT = '<decant-converter></decant-converter>';
const OWN_TARGET = 'converter.output = () => ({ write() {}, close() {}, abort() {} });';
const hasRates = (page: Page) => page.evaluate(() => localStorage.getItem('decant.probed') !== null);

for (const [how, begin] of [
  ['a file is dragged over it', (page: Page) => dragOver(page, images.zlib())],
  ['the person looks for a file', (page: Page) => page.getByRole('button', { name: 'Choose' }).click()],
] as const) {
  test(`workers start and rates are estimated when ${how}`, async ({ page, servers }) => {
    await openHost(page, servers.plain, ELEMENT, 'delete window.showOpenFilePicker;');
    await page.waitForLoadState('networkidle');
    expect(page.workers()).toEqual([]);
    expect(await hasRates(page)).toBe(false);
    const chooser = page.waitForEvent('filechooser').catch(() => {});
    await begin(page);
    await expect.poll(() => page.workers().length).toBeGreaterThan(1);
    await expect.poll(() => hasRates(page)).toBe(true);
    expect(servers.plain.reports).toEqual([]);
    await page.close();
    await chooser;
  });
}

test('a page that saves the disk itself needs no rates', async ({ page, servers }) => {
  await openHost(page, servers.plain, ELEMENT, OWN_TARGET);
  const release = await dragOver(page, images.zlib());
  await release();
  await expect(page.getByRole('button', { name: 'Convert' })).toBeVisible();
  expect(await hasRates(page)).toBe(false);
});

test('a drag while an image is shown starts nothing', async ({ page, servers }) => {
  await openHost(page, servers.plain, ELEMENT);
  const release = await dragOver(page, images.zlib());
  await release();
  await expect(page.getByRole('button', { name: 'Convert' })).toBeVisible();
  const workers = page.workers().length;
  await dragOver(page, images.zstd());
  await page.waitForLoadState('networkidle');
  expect(page.workers()).toHaveLength(workers);
});
