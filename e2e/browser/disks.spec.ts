// An archive with several disks: the person chooses those to convert, which are put into the queue.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '../support/browser.js';
import { qemuImg } from '../support/images.js';
import { ovaOfSeveral } from '../support/ova.js';
import { choose, look } from '../support/page.js';

test('disks of an archive are chosen, and converted one after the other', async ({ page }, testInfo) => {
  const folder = testInfo.outputPath('.');
  const disks = ['system.qcow2', 'a-very-long-name-of-a-disk-'.repeat(3), 'data.qcow2'].map((name, at) => {
    const [raw, image] = [join(folder, `${at}.raw`), join(folder, name)];
    writeFileSync(raw, Buffer.alloc(1 << 20).fill(at + 1, 0, 100_000));
    qemuImg('convert', '-f', 'raw', '-O', 'qcow2', raw, image);
    return { raw, image };
  });
  const images = disks.map(({ image }) => image);
  await page.goto('/');
  await choose(page, ovaOfSeveral(folder, 'vm.ova', images, [1 << 20]));
  await expect(page.getByRole('heading', { name: 'web & db contains 3 disks' })).toBeFocused();
  const boxes = page.getByRole('group', { name: 'Which disks do you want to convert?' }).getByRole('checkbox');
  // In the order of the descriptor.
  await expect(boxes).toHaveCount(3);
  await expect(boxes.nth(0)).toHaveAccessibleName(/^data\.qcow2/);
  await expect(boxes.nth(2)).toHaveAccessibleName(/^system\.qcow2/);
  for (const box of await boxes.all()) await expect(box).toBeChecked();
  // Only the first file has a stated size.
  await expect(boxes.nth(2)).toHaveAccessibleName(/, qcow2, a disk of 1\sMB$/);
  await expect(boxes.nth(0)).toHaveAccessibleName(/, qcow2$/);
  await look(page, testInfo, 'disks');
  for (const box of await boxes.all()) await box.press(' ');
  await page.getByRole('button', { name: 'Continue' }).press('Enter');
  await expect(page.locator('.bad')).toHaveText('Choose at least one disk.');
  await boxes.nth(0).check();
  await boxes.nth(2).check();
  await page.getByRole('button', { name: 'Continue' }).click();
  const rows = page.getByRole('region', { name: 'Queue' }).getByRole('listitem');
  await expect(rows).toContainText(['vm.ova: data.qcow2 open now', 'vm.ova: system.qcow2 waiting']);
  for (const [name, { raw }] of [
    ['vm-disk1.raw', disks[2]!],
    ['vm-disk3.raw', disks[0]!],
  ] as const) {
    await expect(page.getByLabel('File name')).toHaveValue(name);
    await page.getByRole('radio', { name: 'As a download' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: /^Convert( only this disk)?$/ }).click();
    const path = join(folder, name);
    await (await download).saveAs(path);
    expect(readFileSync(path).equals(readFileSync(raw)), name).toBe(true);
    const next = page.getByRole('button', { name: 'Open the next image' });
    if (name === 'vm-disk1.raw') await next.click();
  }
  await expect(rows).toContainText(['see vm-disk1.raw', 'see vm-disk3.raw']);
});
