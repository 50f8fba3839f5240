// An image that was split into parts, which are dropped together.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '../support/browser.js';
import { qemuImg } from '../support/images.js';
import { choose, drop } from '../support/page.js';

test('parts that are dropped together are one image', async ({ page }, testInfo) => {
  const folder = testInfo.outputPath('.');
  const [raw, vmdk] = [join(folder, 'whole.raw'), join(folder, 'whole.vmdk')];
  writeFileSync(raw, Buffer.alloc(1 << 20).fill('decant', 0, 700_000));
  qemuImg('convert', '-f', 'raw', '-O', 'vmdk', '-o', 'subformat=streamOptimized', raw, vmdk);
  execFileSync('split', ['-n', '3', '-a', '3', '--numeric-suffixes=1', vmdk, join(folder, 'disk.vmdk.')]);
  const parts = readdirSync(folder)
    .filter((name) => name.startsWith('disk.vmdk.'))
    .map((name) => join(folder, name));
  expect(parts).toHaveLength(3);
  await page.goto('/');
  await drop(page, parts.toReversed());
  await expect(page.getByLabel('File name')).toHaveValue('disk.raw');
  await page.getByRole('radio', { name: 'As a download' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  const path = join(folder, 'out.raw');
  await (await download).saveAs(path);
  expect(readFileSync(path).equals(readFileSync(raw))).toBe(true);
  // Without the one in the middle.
  await page.goto('/');
  await choose(page, parts[0]!, parts[2]!);
  await expect(page.locator('.card')).toContainText(
    'disk.vmdk.002, a part of the file, is missing. Add all parts together.',
  );
  // The first one alone.
  await page.goto('/');
  await choose(page, parts[0]!);
  await expect(page.locator('.card')).toContainText(
    'disk.vmdk.001 is the first part of a split file. Add all parts together.',
  );
});
