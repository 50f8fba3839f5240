// The box that verifies a result, and the digest of a disk.

import { expect, type Page, test } from '../support/browser.js';
import { hashFile, images } from '../support/images.js';
import { audit, choose, limitStorage, look, lookAgain, setRates } from '../support/page.js';

test.beforeEach(async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
});

const box = (page: Page) => page.getByRole('checkbox', { name: 'Verify' });
const way = (page: Page) => page.getByRole('radio', { name: 'As a download' });
const VERIFIED = 'Verified: every byte of the disk was read back and compared.';

async function download(page: Page, path: string): Promise<void> {
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  await (await download).saveAs(path);
}

test('a result is read back and compared if the box is ticked', async ({ page }, testInfo) => {
  // The file is written quickly, so that the box is not ticked at first.
  await setRates(page, { storage: 4e9, download: 4e9 });
  await choose(page, images.zlib());
  await way(page).click();
  await expect(box(page)).not.toBeChecked();
  await box(page).check();
  await lookAgain(page, testInfo, 'box');
  await audit(page);
  const path = testInfo.outputPath('disk.raw');
  await download(page, path);
  await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
  await expect(page.locator('.good', { hasText: VERIFIED })).toBeVisible();
  await look(page, testInfo, 'verified');
  expect(hashFile(path)).toBe(hashFile(images.raw()));
  // The choice stays.
  await page.getByRole('button', { name: 'Convert another image' }).click();
  await choose(page, images.zlib());
  await expect(box(page)).toBeChecked();
});

test(
  'a slow conversion is verified by default, a file that streams never',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    await setRates(page, { storage: 1e7, download: 4e9 });
    await choose(page, images.zlib());
    await way(page).click();
    await expect(box(page)).toBeChecked();
    await box(page).uncheck();
    await download(page, testInfo.outputPath('disk.raw'));
    await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
    await expect(page.getByText(VERIFIED)).toHaveCount(0);
    await page.reload();
    await limitStorage(page);
    await choose(page, images.zlib());
    await way(page).click();
    await expect(box(page)).toBeDisabled();
    await expect(page.getByText('cannot be read back')).toBeVisible();
  },
);
