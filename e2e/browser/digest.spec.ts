// The digest of the disk of an open image.

import { expect, test } from '../support/browser.js';
import { hashFile, images } from '../support/images.js';
import { choose, look } from '../support/page.js';

test('the digest of a disk is that of a raw file', async ({ page }, testInfo) => {
  await page.goto('/');
  await choose(page, images.zlib());
  await page.getByRole('button', { name: 'Compute the SHA-256 of the disk' }).click();
  const digest = page.getByRole('region', { name: 'SHA-256 of the disk' });
  await expect(digest.locator('pre')).toHaveText(hashFile(images.raw()));
  await look(page, testInfo, 'digest');
});
