// A machine with several disks, which become one OVA.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, hashOpfs, type Page, storage, test } from '../support/browser.js';
import { decant } from '../support/command.js';
import { arriveAt, closeGate, fifthOf, useGates } from '../support/gates.js';
import { hashFile, PASSWORD, qemuImgLuks, sparse } from '../support/images.js';
import { choose, commands, drop, look } from '../support/page.js';

const UUID = '01234567-89ab-cdef-0123-456789abcdef';

/** Makes the disk `name` of 1 MiB, which begins with `byte`, in `folder`. Returns its path. */
function disk(folder: string, name: string, byte: number, ...options: string[]): string {
  const [raw, image] = [join(folder, `${name}.raw`), join(folder, name)];
  writeFileSync(raw, Buffer.alloc(1 << 20).fill(byte, 0, 100_000));
  qemuImgLuks('convert', '-f', 'raw', ...options, raw, image);
  rmSync(raw);
  return image;
}

/** Makes a machine of VMware with two disks, and returns the path of its folder. */
function machine(folder: string): string {
  const vm = join(folder, 'vm');
  mkdirSync(vm);
  const disks = ['system.vmdk', 'data.vmdk'].map((name, at) => disk(vm, name, at + 1, '-O', 'vmdk'));
  const lines = disks.map((path, at) => `scsi0:${at}.present = "TRUE"\nscsi0:${at}.fileName = "${basename(path)}"`);
  const hardware = ['config.version = "8"', 'displayName = "web"', 'memsize = "1024"', 'numvcpus = "3"'];
  writeFileSync(join(vm, 'web.vmx'), [...hardware, ...lines].join('\n'));
  return vm;
}

/** Returns the private file system from the folder picker. */
const pickFolders = (page: Page) =>
  page.addInitScript(() => {
    Object.assign(window, { showDirectoryPicker: () => navigator.storage.getDirectory() });
  });

test('the disks of a machine become one OVA in a folder, with the bytes that Node writes', async ({
  page,
}, testInfo) => {
  const vm = machine(testInfo.outputPath('.'));
  const expected = testInfo.outputPath('web.ova');
  expect(decant('convert', '-o', `uuid=${UUID},name=web`, vm, expected)).toMatchObject({ status: 0 });
  await pickFolders(page);
  await page.goto('/');
  await page.evaluate((uuid) => {
    const place = { name: 'mine', label: 'My console', format: 'ova', formatOptions: { uuid, name: 'web' } };
    document.querySelector('decant-converter')!.places = [place];
  }, UUID);
  await drop(page, vm);
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByRole('heading', { name: 'web.vmx: system.vmdk (1 MB)' })).toBeVisible();
  // Where an OVA is made, one disk alone is the exception.
  await expect(page.getByRole('button', { name: 'Only this disk in an OVA' })).toBeVisible();
  await expect(page.getByRole('button', { name: /^Convert/ })).toHaveCount(0);
  await page.getByRole('button', { name: 'All 2 disks in one OVA' }).click();
  await expect(page.getByRole('heading', { name: 'web.vmx' })).toBeFocused();
  await expect(page.getByRole('region', { name: 'Queue' })).toHaveCount(0);
  await page.getByText('Change', { exact: true }).click();
  await expect(page.getByLabel('File name')).toHaveValue('web.ova');
  await page.getByRole('radio', { name: 'To a folder' }).click();
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Done' })).toBeFocused();
  await expect(page.locator('#place')).toHaveText(/ in the folder /);
  expect(await hashOpfs(page, 'web.ova')).toBe(hashFile(expected));
});

test(
  'a disk of several that become one OVA asks for its password, and the commands import the OVA',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    const folder = testInfo.outputPath('.');
    const luks = [
      '-O',
      'qcow2',
      '--object',
      `secret,id=s,data=${PASSWORD}`,
      '-o',
      'encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=10',
    ];
    const disks = [disk(folder, 'a.qcow2', 1, '-O', 'qcow2'), disk(folder, 'b.qcow2', 2, ...luks)];
    const tar = join(folder, 'both.tar');
    execFileSync('tar', ['-C', folder, '-cf', tar, ...disks.map((path) => basename(path))]);
    await page.goto('/');
    await choose(page, tar);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('radio', { name: 'VMware' }).check();
    for (const name of ['Convert all 2 disks', 'Convert only this disk'])
      await expect(page.getByRole('button', { name, exact: true })).toBeVisible();
    await page.getByRole('radio', { name: 'VMware' }).press('Tab');
    await look(page, testInfo, 'one-of-two');
    await page.getByRole('button', { name: 'All 2 disks in one OVA' }).click();
    await expect(page.getByRole('heading', { name: 'both.tar: b.qcow2 is encrypted' })).toBeVisible();
    await page.getByLabel('Password for').fill(PASSWORD);
    await page.getByRole('button', { name: 'Unlock' }).click();
    await expect(page.getByRole('heading', { name: 'both.tar' })).toBeFocused();
    await expect(page.getByRole('radio', { name: 'VMware' })).toBeChecked();
    await expect(page.getByRole('radio', { name: 'Azure' })).toHaveCount(0);
    await look(page, testInfo, 'together');
    // One disk alone stays possible, and the password is not asked for again.
    await page.getByRole('button', { name: 'A file for each disk' }).click();
    await expect(page.getByRole('heading', { name: 'both.tar: a.qcow2 (1 MB)' })).toBeFocused();
    await page.getByRole('button', { name: 'All 2 disks in one OVA' }).click();
    await expect(page.getByRole('heading', { name: 'both.tar' })).toBeFocused();
    await page.getByText('Change', { exact: true }).click();
    await page.getByRole('radio', { name: 'As a download' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    const path = join(folder, 'both.ova');
    await (await download).saveAs(path);
    await expect.poll(async () => (await commands(page))[0]).toMatch(/^ovftool .* both\.ova vi:\/\/HOST\/$/);
    await look(page, testInfo, 'done');
    for (const [at, byte] of [1, 2].entries()) {
      const raw = join(folder, `${at}.raw`);
      expect(decant('convert', '--disk', `${at + 1}`, path, raw)).toMatchObject({ status: 0 });
      const expected = join(folder, `${at}.expected`);
      writeFileSync(expected, Buffer.alloc(1 << 20).fill(byte, 0, 100_000));
      expect(hashFile(raw), raw).toBe(hashFile(expected));
    }
  },
);

test.describe('with gates', () => {
  useGates();

  test(
    'a conversion of several disks that is cancelled leaves nothing, and begins again with all of them',
    { tag: '@full' },
    async ({ page }, testInfo) => {
      const folder = testInfo.outputPath('.');
      const { image } = sparse(64 << 20);
      for (const name of ['a.qcow2', 'b.qcow2']) copyFileSync(image, join(folder, name));
      const tar = join(folder, 'both.tar');
      execFileSync('tar', ['-C', folder, '-cf', tar, 'a.qcow2', 'b.qcow2']);
      await pickFolders(page);
      await page.goto('/');
      await choose(page, tar);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByRole('radio', { name: 'VirtualBox' }).check();
      await page.getByRole('button', { name: 'All 2 disks in one OVA' }).click();
      await page.getByRole('radio', { name: 'To a folder' }).click();
      const gate = fifthOf('both.tar', 80);
      const goOn = await closeGate(page, gate);
      await page.getByRole('button', { name: 'Convert', exact: true }).click();
      await expect(page.getByRole('heading', { name: 'Converting both.tar' })).toBeVisible();
      await arriveAt(page, gate);
      await page.getByRole('button', { name: 'Cancel' }).click();
      await expect(page.getByRole('heading', { name: 'Cancelled. Nothing was left behind.' })).toBeVisible();
      expect((await storage(page)).names).toEqual([]);
      await goOn();
      await page.getByRole('button', { name: 'Back to the image' }).click();
      await expect(page.getByRole('heading', { name: 'both.tar' })).toBeFocused();
      await page.getByRole('button', { name: 'Convert', exact: true }).click();
      await expect(page.getByRole('heading', { name: 'Done' })).toBeFocused();
      await expect.poll(async () => (await commands(page))[0]).toMatch(/^VBoxManage import both\.ova /);
      expect((await storage(page)).names).toEqual(['both.ova']);
    },
  );
});
