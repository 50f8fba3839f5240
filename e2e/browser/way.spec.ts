// The shortest way: an image, a place, one button. Nothing is unfolded.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LitElement } from 'lit';
import { expect, type Page, test } from '../support/browser.js';
import { hashFile, images, qemuImg } from '../support/images.js';
import { choose, commands, drop, look } from '../support/page.js';

test.use({ opensFolds: false, viewport: { width: 1280, height: 720 } });

/** Opens the page in a browser that can only download. */
async function open(page: Page): Promise<void> {
  await page.addInitScript(() => {
    Reflect.deleteProperty(window, 'showDirectoryPicker');
    Reflect.deleteProperty(window, 'showSaveFilePicker');
  });
  await page.goto('/');
}

const place = (page: Page, name: string) => page.getByRole('radio', { name });
const convert = (page: Page) => page.getByRole('button', { name: 'Convert', exact: true });

test('a place is chosen and remembered, one button converts, and the next step is there', async ({
  page,
  context,
}, testInfo) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page);
  await look(page, testInfo, 'empty');
  await choose(page, images.zlib());
  await expect(place(page, 'Raw disk')).toBeChecked();
  await place(page, 'Proxmox VE').check();
  await expect(page.getByRole('heading', { name: 'zlib.qcow2' })).toBeVisible();
  await expect(page.getByText(/^qcow2 for Proxmox VE,.* to your downloads/)).toBeVisible();
  await expect(page.getByText('Nothing to convert: zlib.qcow2 already fits (Proxmox VE).')).toBeVisible();
  await expect(convert(page)).toBeInViewport({ ratio: 1 });
  await look(page, testInfo, 'ready');
  await page.setViewportSize({ width: 1280, height: 720 });
  const download = page.waitForEvent('download');
  await convert(page).click();
  const path = testInfo.outputPath('converted.qcow2');
  await (await download).saveAs(path);
  qemuImg('compare', path, images.zlib());
  const next = page.getByRole('region', { name: 'Next, for Proxmox VE' });
  const unfilled = 'qm disk import VMID zlib-converted.qcow2 STORAGE --target-disk scsi0';
  await expect.poll(() => commands(page)).toContain(unfilled);
  await next.getByRole('textbox', { name: 'VMID' }).first().fill('105');
  await next.getByRole('textbox', { name: 'STORAGE' }).fill('my disks');
  const filled = "qm disk import 105 zlib-converted.qcow2 'my disks' --target-disk scsi0";
  await page.getByRole('button', { name: `Copy: ${filled}` }).click();
  // At its button.
  await expect(page.locator('.next li', { hasText: 'qm disk import' }).getByRole('button')).toHaveText('Copied.');
  await expect(next.getByText('Copied.')).toHaveCount(1);
  await expect(page.locator('.news')).toHaveCount(0);
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(filled);
  await page.getByRole('button', { name: 'Copy all' }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain(`\n${filled}\n`);
  await page.getByRole('button', { name: 'Compute its SHA-256' }).click();
  await expect(page.getByText(hashFile(path), { exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Copy SHA-256' }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(hashFile(path));
  await look(page, testInfo, 'done');
  await page.reload();
  await choose(page, images.states());
  await expect(place(page, 'Proxmox VE')).toBeChecked();
});

test('all disks of a machine have one script, with its hardware', { tag: '@full' }, async ({ page }, testInfo) => {
  const vm = testInfo.outputPath('vm');
  mkdirSync(vm);
  const disks = ['web.vmdk', 'data.vmdk'];
  for (const file of disks) qemuImg('create', '-q', '-f', 'vmdk', join(vm, file), '1M');
  const hardware = [
    'displayName = "Web Server"',
    'memsize = "4096"',
    'numvcpus = "4"',
    'guestOS = "windows2019srv-64"',
  ];
  const names = disks.map((file, at) => `sata0:${at}.fileName = "${file}"`);
  writeFileSync(join(vm, 'web.vmx'), ['config.version = "8"', ...hardware, ...names].join('\n'));
  await open(page);
  await drop(page, vm);
  await page.getByRole('button', { name: 'Continue' }).click();
  await place(page, 'Proxmox VE').check();
  await page.getByRole('button', { name: 'Convert all 2' }).click();
  await expect
    .poll(() => commands(page))
    .toEqual([
      'qm create VMID --name web-server --memory 4096 --cores 4 --ostype win10 --scsihw virtio-scsi-single --net0 e1000,bridge=vmbr0',
      'qm disk import VMID web-disk1.qcow2 STORAGE --target-disk sata0',
      'qm disk import VMID web-disk2.qcow2 STORAGE --target-disk sata1',
      'qm set VMID --boot order=sata0',
    ]);
  await expect(page.getByText('Windows may need virtio drivers to start in Proxmox VE')).toBeVisible();
  await look(page, testInfo, 'done-machine');
});

test('a place is searched, and a format that is chosen belongs to none', { tag: '@full' }, async ({ page }) => {
  await open(page);
  await choose(page, images.states());
  await expect(page.locator('.tiles label')).toHaveCount(9);
  await page.getByRole('button', { name: 'More…' }).click();
  await page.getByLabel('Find a place').fill('incus');
  await expect(page.locator('.tiles label')).toHaveCount(10);
  await place(page, 'Incus').check();
  await expect(page.getByText(/ for Incus or LXD,.* to your downloads/)).toBeVisible();
  await page.getByLabel('Find a place').fill('nowhere');
  await expect(page.getByText('No place has this name.')).toBeVisible();
  await page.getByText('Change', { exact: true }).click();
  await page.getByLabel('Output format').selectOption('vmdk');
  await expect(page.getByText(/^VMDK,.* to your downloads/)).toBeVisible();
  await expect(page.locator('[name=place]:checked')).toHaveCount(0);
});

test('what cannot be converted for a place says why', { tag: '@full' }, async ({ page }) => {
  await open(page);
  await choose(page, images.states());
  await expect(place(page, 'Azure')).toBeDisabled();
  const why = page.getByText(/^Azure: .*at least 21\sMB/);
  await expect(why).toBeVisible();
  await expect(why).not.toContainText('https:');
  await expect(why.getByRole('link')).toHaveAttribute('href', /^https:\/\/learn\.microsoft\.com\/.*uploadsizebytes$/);
});

test('a disk becomes larger, never smaller', async ({ page }, testInfo) => {
  await open(page);
  await choose(page, images.states());
  await page.getByText('Change', { exact: true }).click();
  const size = page.getByLabel('Larger disk, in GB');
  await expect(size).toHaveAttribute('placeholder', /^0\.0\d{1,3}$/);
  await size.fill('1.5');
  await size.press('Tab');
  await expect(page.getByText('Takes the full 1.5 GB.')).toBeVisible();
  await page.getByLabel('Output format').selectOption('qcow2');
  await size.fill('0.00001');
  await size.press('Tab');
  await expect(page.getByRole('alert')).toContainText('A disk can only become larger.');
  await convert(page).click();
  await expect(size).toBeVisible();
  await size.fill('1.5');
  // The typed value stays when the page renders again.
  await page.locator('decant-converter').evaluate((element) => {
    const shown = element as unknown as LitElement;
    shown.requestUpdate();
    return shown.updateComplete;
  });
  await expect(size).toHaveValue('1.5');
  // It counts before the field loses the focus: nothing moves while the button is pressed.
  await expect(page.getByRole('alert')).toHaveCount(0);
  await size.press('Backspace');
  await size.press('5');
  await expect(size).toHaveValue('1.5');
  const download = page.waitForEvent('download');
  await convert(page).click();
  const path = testInfo.outputPath('larger.qcow2');
  await (await download).saveAs(path);
  // In whole sectors.
  expect(JSON.parse(qemuImg('info', '--output=json', path))['virtual-size']).toBe(1_500_000_256);
});

test('nothing moves when it is known how to save the disk', async ({ page }) => {
  await page.addInitScript(() => {
    const answered = new Promise<void>((resolve) => Object.assign(window, { answer: resolve }));
    const { getDirectory } = StorageManager.prototype;
    StorageManager.prototype.getDirectory = async function () {
      await answered;
      return getDirectory.call(this);
    };
  });
  await page.goto('/');
  await choose(page, images.states());
  const button = page.getByRole('button', { name: 'Convert', exact: true });
  await expect(page.getByText('checking where to save it')).toBeVisible();
  await expect(button).toHaveAccessibleDescription('checking where to save it');
  const before = await button.boundingBox();
  await page.evaluate(() => (window as unknown as { answer: () => void }).answer());
  await expect(page.locator('.made')).toContainText('to your downloads');
  expect(await button.boundingBox()).toEqual(before);
  await expect(page.getByLabel('File name')).toHaveCount(0);
  // A double click opens, too.
  await page.getByRole('button', { name: 'Change' }).dblclick();
  await expect(page.getByLabel('File name')).toBeVisible();
});
