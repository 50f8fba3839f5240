// The files of a virtual machine, which are dropped as its folder: its disks are offered in their current state.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '../support/browser.js';
import { qemuImg } from '../support/images.js';
import { drop } from '../support/page.js';

test('the disks of a dropped machine are offered', async ({ page }, testInfo) => {
  const folder = testInfo.outputPath('.');
  const vm = join(folder, 'My machine');
  mkdirSync(vm);
  const disks = ['system', 'data'].map((name, at) => {
    const raw = join(folder, `${name}.raw`);
    writeFileSync(raw, Buffer.alloc(1 << 20).fill(at + 1, 0, 100_000));
    qemuImg('convert', '-f', 'raw', '-O', 'vmdk', raw, join(vm, `${name}.vmdk`));
    return raw;
  });
  qemuImg('create', '-q', '-f', 'vmdk', '-b', 'data.vmdk', '-F', 'vmdk', join(vm, 'data-000001.vmdk'));
  const lines = ['config.version = "8"', 'sata0:0.fileName = "system.vmdk"', 'sata0:1.fileName = "data-000001.vmdk"'];
  writeFileSync(join(vm, 'vm.vmx'), lines.join('\n'));
  await page.goto('/');
  await drop(page, vm);
  await expect(page.getByRole('heading', { name: 'vm.vmx contains 2 disks' })).toBeVisible();
  const boxes = page.getByRole('group', { name: 'Which disks do you want to convert?' }).getByRole('checkbox');
  await expect(boxes.nth(0)).toHaveAccessibleName(/^system\.vmdk/);
  await expect(boxes.nth(1)).toHaveAccessibleName(/^data-000001\.vmdk/);
  await boxes.nth(0).uncheck();
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByLabel('File name')).toHaveValue('vm-disk2.raw');
  await page.getByRole('radio', { name: 'As a download' }).check();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert' }).click();
  const path = join(folder, 'out.raw');
  await (await download).saveAs(path);
  expect(readFileSync(path).equals(readFileSync(disks[1]!))).toBe(true);
});
