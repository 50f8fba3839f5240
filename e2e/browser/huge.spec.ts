// A disk with an almost endless map: a way to save is proposed with the known part, and nothing waits for the rest.

import { expect, type Page, test } from '../support/browser.js';
import { hashFile, images, qemuImg } from '../support/images.js';
import { choose, look, lookAgain, setRates } from '../support/page.js';

test.beforeEach(async ({ page }) => {
  await page.addInitScript(() => {
    // The browser's dialog cannot be driven.
    Object.assign(window, { showDirectoryPicker: () => navigator.storage.getDirectory() });
  });
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
});

const isReading = (page: Page) => expect(page.getByText('so far')).toBeVisible();

test('a way can be chosen while the map is still read', { tag: '@full' }, async ({ page }, testInfo) => {
  await setRates(page);
  await page.clock.install();
  await choose(page, images.endless());
  await expect(page.getByRole('heading', { name: 'endless.qcow2' })).toBeVisible();
  // Chosen by the person, it can be converted at once.
  await expect(page.getByRole('button', { name: 'Convert', exact: true })).toBeVisible();
  await page.clock.fastForward(2000);
  await expect(page.getByText(/^In a folder, the browser would check all 9\sPB at the end/)).toBeVisible();
  await page.getByRole('radio', { name: 'To a folder you pick' }).click();
  await expect(page.getByRole('button', { name: 'Convert', exact: true })).not.toHaveAttribute('aria-disabled');
  await expect(page.getByText(/^Takes at least .*, the size of its data\. At the end, the browser/)).toBeVisible();
  await isReading(page);
  await lookAgain(page, testInfo, 'endless');
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

test('a raw disk that takes hours: qcow2 is offered first, and a folder asks before', async ({ page }, testInfo) => {
  const image = testInfo.outputPath('vast.qcow2');
  qemuImg('create', '-q', '-f', 'qcow2', image, '8T');
  await choose(page, image);
  await expect(page.getByRole('heading', { name: 'qcow2 takes under a minute' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Convert', exact: true })).toHaveAttribute('aria-disabled', 'true');
  await page.getByRole('radio', { name: 'To a folder you pick' }).click();
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  await expect(page.getByRole('heading', { name: /checks the file for 7 to 33 hours$/ })).toBeFocused();
  await look(page, testInfo, 'hours');
  await page.getByRole('button', { name: 'Use qcow2' }).click();
  await page.getByRole('radio', { name: 'As a download' }).check();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  const path = testInfo.outputPath('converted.qcow2');
  await (await download).saveAs(path);
  expect(JSON.parse(qemuImg('info', '--output=json', path))['virtual-size']).toBe(8 * 2 ** 40);
});
