// A disk with an almost endless map: a way to save is proposed with the known part, and nothing waits for the rest.

import { expect, type Page, test } from '../support/browser.js';
import { hashFile, images } from '../support/images.js';
import { choose, look, setRates } from '../support/page.js';

test.beforeEach(async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
});

const isReading = (page: Page) => expect(page.getByText('so far')).toBeVisible();

test('a way is proposed while the map is still read', async ({ page }, testInfo) => {
  // With these a folder is better, for any read part of the map.
  await setRates(page);
  await page.clock.install();
  await choose(page, images.endless());
  await expect(page.getByRole('heading', { name: 'endless.qcow2' })).toBeVisible();
  // Chosen by the person, it can be converted at once.
  await expect(page.getByRole('button', { name: 'Convert', exact: true })).toBeVisible();
  await page.clock.fastForward(2000);
  await expect(page.getByRole('radio', { name: 'To a folder you pick' })).toBeChecked();
  await expect(page.getByRole('button', { name: 'Convert', exact: true })).not.toHaveAttribute('aria-disabled');
  await expect(page.getByText(/^Takes at least .*, the size of its data\. At least/)).toBeVisible();
  await isReading(page);
  await look(page, testInfo, 'endless');
});

test('another image is opened while the map is still read', { tag: '@full' }, async ({ page }, testInfo) => {
  await choose(page, images.endless());
  await isReading(page);
  await page.getByRole('button', { name: 'Choose another file' }).click();
  await choose(page, images.states());
  await page.getByRole('radio', { name: 'As a download' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  const path = testInfo.outputPath('states.raw');
  await (await download).saveAs(path);
  expect(hashFile(path)).toBe(hashFile(images.filled(2)));
  await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
});
