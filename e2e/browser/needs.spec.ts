// Images that need more than their file: backing files, a password, a choice, salvage.

import { readFileSync, writeFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { expect, giveFile, test } from '../support/browser.js';
import { makeCompressed } from '../support/compressed.js';
import { hashFile, images, PASSWORD, qemuImg } from '../support/images.js';
import { choose, drop, look, lookAgain } from '../support/page.js';

/** Converts the shown image to a download. Resolves to the disk's hash. */
async function convert(page: Page, path: string): Promise<string> {
  await page.getByRole('radio', { name: 'As a download' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  await (await download).saveAs(path);
  return hashFile(path);
}

test.beforeEach(async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
});

test('a chain of three dropped together', { tag: '@full' }, async ({ page }, testInfo) => {
  const { top, below, raw } = images.chain();
  await choose(page, below[1]!, top, below[0]!);
  await expect(page.getByRole('heading', { name: 'top.qcow2' })).toBeVisible();
  await expect(page.getByText('top.qcow2, middle.qcow2, base.qcow2')).toBeVisible();
  expect(await convert(page, testInfo.outputPath('out.raw'))).toBe(hashFile(raw));
});

test(
  'a chain of three VDIs dropped together, whose parents have no names',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    const { top, below, raw } = images.vdiChain();
    await choose(page, below[1]!, top, below[0]!);
    await expect(page.getByRole('heading', { name: 'c.vdi' })).toBeVisible();
    await expect(page.getByText('c.vdi, {b}.vdi, a.vdi')).toBeVisible();
    expect(await convert(page, testInfo.outputPath('out.raw'))).toBe(hashFile(raw));
  },
);

test(
  'a parent without a name is asked for in words, and nothing is said of it afterwards',
  { tag: '@full' },
  async ({ page }) => {
    const { top, below } = images.vdiChain();
    await choose(page, top);
    await expect(page.getByText("Drop the machine's whole folder")).toBeVisible();
    await page.getByLabel('Choose the parent').setInputFiles(below[1]!);
    await expect(page.locator('.bad')).toContainText('This is not the file on which c.vdi is based');
    await drop(page, below);
    await expect(page.getByRole('heading', { name: 'c.vdi' })).toBeVisible();
    await expect(page.getByText('c.vdi, {b}.vdi, a.vdi')).toBeVisible();
    await expect(page.locator('.card')).not.toContainText('builds on');
  },
);

test('missing backing files are asked for one by one, by name', async ({ page }, testInfo) => {
  const { top, below, raw } = images.chain();
  await choose(page, top);
  await expect(page.getByRole('heading', { name: 'Also add middle.qcow2' })).toBeVisible();
  await look(page, testInfo, 'needs');
  await page.getByLabel('Choose the backing file').setInputFiles(below[0]!);
  await expect(page.getByRole('heading', { name: 'Also add base.qcow2' })).toBeVisible();
  // The image itself is not the missing file.
  await page.getByLabel('Choose the backing file').setInputFiles(top);
  await expect(page.locator('.bad')).toContainText('the image itself');
  await expect(page.getByRole('heading', { name: 'Also add base.qcow2' })).toBeVisible();
  await page.getByLabel('Choose the backing file').setInputFiles(below[1]!);
  expect(await convert(page, testInfo.outputPath('out.raw'))).toBe(hashFile(raw));
});

test('a snapshot is picked, and the current state again', async ({ page }, testInfo) => {
  await choose(page, images.states());
  const picker = page.getByLabel('State of the disk');
  await picker.selectOption({ index: 1 });
  await expect(page.getByLabel('File name')).toHaveValue('states-before.raw');
  await expect(picker).toHaveValue('0');
  await look(page, testInfo, 'snapshot');
  const then = await convert(page, testInfo.outputPath('then.raw'));
  await page.getByRole('button', { name: 'Convert another image' }).click();
  await choose(page, images.states());
  const now = await convert(page, testInfo.outputPath('now.raw'));
  expect([then, now]).toEqual([hashFile(images.filled(1)), hashFile(images.filled(2))]);
});

test('a LUKS volume by itself', { tag: '@full' }, async ({ page }, testInfo) => {
  await choose(page, images.volume());
  await page.getByLabel('Password for volume.luks').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await expect(page.getByText('LUKS1, aes-256')).toBeVisible({ timeout: 30_000 });
  const expected = testInfo.outputPath('expected.raw');
  qemuImg('convert', '-O', 'raw', images.partly('vdi'), expected);
  expect(await convert(page, testInfo.outputPath('out.raw'))).toBe(hashFile(expected));
});

test('a LUKS image with a wrong and then the right password', async ({ page }, testInfo) => {
  await choose(page, images.luks());
  const password = page.getByLabel('Password for luks.qcow2');
  await password.fill('wrong');
  await page.getByRole('button', { name: 'Unlock' }).click();
  await expect(page.locator('.bad')).toContainText('The password is wrong');
  await look(page, testInfo, 'password');
  await password.fill(PASSWORD);
  await page.keyboard.press('Enter');
  await expect(page.getByText('LUKS1, aes-256')).toBeVisible({ timeout: 30_000 });
  expect(await convert(page, testInfo.outputPath('out.raw'))).toBe(hashFile(images.raw()));
});

test(
  'two layers with passwords of their own: the question names the layer that is locked',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    const { top, base, raw, passwords } = images.lockedChain();
    await choose(page, top, base);
    const give = async (name: string, password: string) => {
      await expect(page.getByRole('heading', { name: `${name} is encrypted` })).toBeVisible();
      await page.getByLabel(`Password for ${name}`).fill(password);
      await page.getByRole('button', { name: 'Unlock' }).click();
    };
    await give('top.qcow2', 'wrong');
    await expect(page.locator('.bad')).toHaveText('The password is wrong.');
    await give('top.qcow2', passwords.top);
    // The same password is tried for the other layer, but not called wrong.
    await expect(page.getByLabel('Password for base.qcow2')).toBeVisible();
    await expect(page.locator('.bad')).toHaveCount(0);
    await give('base.qcow2', 'wrong');
    await expect(page.locator('.bad')).toHaveText("In 'base.qcow2': The password is wrong.");
    await look(page, testInfo, 'layer');
    await give('base.qcow2', passwords.base);
    expect(await convert(page, testInfo.outputPath('out.raw'))).toBe(hashFile(raw));
  },
);

/** Makes an image with noise in the middle of its compressed data, that ends early. */
function makeDamaged(path: string): void {
  makeCompressed(path);
  const image = readFileSync(path);
  image.fill(0xff, image.length / 2, image.length / 2 + 100_000);
  writeFileSync(path, image.subarray(0, image.length * 0.8));
}

test('a truncated image is refused, and salvaged', async ({ page }, testInfo) => {
  const damaged = testInfo.outputPath('damaged.qcow2');
  makeDamaged(damaged);
  await choose(page, damaged);
  await expect(page.locator('.bad')).toContainText('is cut off');
  await page.getByRole('button', { name: 'Salvage the readable parts' }).click();
  await expect(page.getByText('Unreadable parts become zeros').first()).toBeVisible();
  await lookAgain(page, testInfo, 'salvage');
  await convert(page, testInfo.outputPath('out.raw'));
  await expect(page.getByRole('heading', { name: 'Done, but the disk is damaged' })).toBeVisible();
  await page.getByText('Lost parts of the disk', { exact: true }).click();
  await expect(page.locator('pre')).toContainText('does not decompress to a whole cluster');
  await expect(page.locator('pre')).toContainText('the file ends');
  await look(page, testInfo, 'salvaged');
});

test('unlocking can be cancelled', { tag: '@full' }, async ({ apiPage: page }) => {
  await giveFile(page, images.luksSlow());
  const [kind, share] = await page.evaluate(async (password) => {
    const image = await window.decant.open(window.file, { password });
    const cancel = new AbortController();
    let latest = 0;
    const onProgress = ({ fraction: share = 0 }: { fraction?: number }) => {
      latest = share;
      if (share > 0) cancel.abort();
    };
    const kind = await image.unlock({ signal: cancel.signal, onProgress }).catch((error) => error.kind);
    await image.close();
    return [kind, latest] as const;
  }, PASSWORD);
  expect(kind).toBe('cancelled');
  // It ended early, not because the work was done.
  expect(share).toBeGreaterThan(0);
  expect(share).toBeLessThan(0.5);
});

test('the same keys serve two conversions', { tag: '@full' }, async ({ apiPage: page }) => {
  await giveFile(page, images.luks());
  const phases = await page.evaluate(async (password) => {
    const image = await window.decant.open(window.file, { password: new TextEncoder().encode(password) });
    const seen: string[][] = [];
    for (const name of ['first.raw', 'second.raw']) {
      const phases = new Set<string>();
      await image.convert({ opfs: name }, { onProgress: ({ phase }) => phases.add(phase) });
      seen.push([...phases]);
    }
    await image.close();
    return seen;
  }, PASSWORD);
  expect(phases[0]).toContain('unlocking');
  expect(phases[1]).not.toContain('unlocking');
});
