// The files of a virtual machine, which are dropped as its folder: its disks are offered in their current state.

import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '../support/browser.js';
import { qemuImg } from '../support/images.js';
import { drop, lookAgain } from '../support/page.js';

test('the disks of a dropped machine are offered', { tag: '@full' }, async ({ page }, testInfo) => {
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
  await page.getByRole('radio', { name: 'As a download' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  const path = join(folder, 'out.raw');
  await (await download).saveAs(path);
  expect(readFileSync(path).equals(readFileSync(disks[1]!))).toBe(true);
});

/** Makes a folder of VirtualBox: a disk with a snapshot, and a second disk. Returns the raw contents of the current states. */
function virtualBox(folder: string) {
  const vm = join(folder, 'vb');
  mkdirSync(join(vm, 'Snapshots'), { recursive: true });
  const make = (name: string, byte: number) => {
    const raw = join(folder, `${byte}.raw`);
    writeFileSync(raw, Buffer.alloc(1 << 20).fill(byte, 0, 100_000));
    qemuImg('convert', '-f', 'raw', '-O', 'vdi', raw, join(vm, name));
    return readFileSync(raw);
  };
  make('base.vdi', 1);
  const disks = [make('Snapshots/{2}.vdi', 2), make('second.vdi', 3)];
  const attached = (uuid: string) => `<AttachedDevice type="HardDisk"><Image uuid="{${uuid}}"/></AttachedDevice>`;
  const text = `<?xml version="1.0"?><VirtualBox version="1.19-linux"><Machine uuid="{9}" name="vb"><MediaRegistry><HardDisks>
<HardDisk uuid="{1}" location="base.vdi"><HardDisk uuid="{2}" location="Snapshots/{2}.vdi"/></HardDisk>
<HardDisk uuid="{3}" location="second.vdi"/></HardDisks></MediaRegistry><Snapshot uuid="{7}" name="one"><Hardware>${attached('1')}</Hardware>
</Snapshot><Hardware>${attached('2')}${attached('3')}</Hardware></Machine></VirtualBox>`;
  writeFileSync(join(vm, 'vb.vbox'), text);
  return { vm, disks };
}

test('a dropped folder of VirtualBox includes its snapshots; a missing one is asked for', async ({
  page,
}, testInfo) => {
  const folder = testInfo.outputPath('.');
  const { vm, disks } = virtualBox(folder);
  await page.goto('/');
  await drop(page, vm);
  const boxes = page.getByRole('group', { name: 'Which disks do you want to convert?' }).getByRole('checkbox');
  await expect(boxes).toHaveCount(2);
  for (const box of await boxes.all()) await expect(box).toBeChecked();
  await expect(page.getByRole('heading', { name: 'vb contains 2 disks' })).toBeVisible();
  // In the state of the snapshot, the machine has one disk.
  await page.getByLabel('State of the disk').selectOption({ index: 1 });
  await expect(page.getByRole('heading', { name: 'vb contains one disk' })).toBeVisible();
  await page.getByLabel('State of the disk').selectOption({ index: 0 });
  await expect(boxes).toHaveCount(2);
  await page.reload();
  const elsewhere = join(folder, '{2}.vdi');
  renameSync(join(vm, 'Snapshots', '{2}.vdi'), elsewhere);
  await drop(page, vm);
  await expect(page.getByRole('heading', { name: 'vb contains 2 disks' })).toBeVisible();
  await expect(boxes.nth(0)).toHaveAccessibleName(/\{2\}\.vdi its file is missing/);
  await expect(boxes.nth(0)).toBeDisabled();
  await expect(page.locator('.news')).toContainText('VM with a missing disk: base.vdi');
  await expect(page.getByRole('region', { name: 'Queue' })).toHaveCount(0);
  await lookAgain(page, testInfo, 'missing');
  const renamed = join(folder, 'renamed.vdi');
  copyFileSync(elsewhere, renamed);
  await drop(page, renamed);
  await expect(page.getByRole('region', { name: 'Queue' })).toBeVisible();
  await page.getByRole('button', { name: 'Use renamed.vdi as {2}.vdi' }).click();
  await expect(boxes.nth(0)).toBeChecked();
  await expect(boxes.nth(0)).toHaveAccessibleName(/^\{2\}\.vdi/);
  await expect(page.getByRole('region', { name: 'Queue' })).toHaveCount(0);
  await boxes.nth(1).uncheck();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('radio', { name: 'As a download' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  const path = join(folder, 'out.raw');
  await (await download).saveAs(path);
  expect(readFileSync(path).equals(disks[0]!)).toBe(true);
  // A configuration alone.
  await page.reload();
  await drop(page, join(vm, 'vb.vbox'));
  await expect(boxes.nth(1)).toBeDisabled();
  await expect(page.getByRole('button', { name: 'Continue' })).toHaveCount(0);
  await page.locator('form input[type=file]').setInputFiles([join(vm, 'second.vdi'), elsewhere]);
  await expect(boxes.nth(1)).toBeChecked();
});

test('each of two dropped machines gets its own files', { tag: '@full' }, async ({ page }, testInfo) => {
  const folder = testInfo.outputPath('.');
  const machines = ['one', 'two'].map((name, at) => {
    const [vm, raw] = [join(folder, name), join(folder, `${name}.raw`)];
    mkdirSync(vm);
    writeFileSync(raw, Buffer.alloc(1 << 20).fill(at + 1, 0, 100_000));
    qemuImg('convert', '-f', 'raw', '-O', 'vmdk', raw, join(vm, 'disk.vmdk'));
    writeFileSync(join(vm, `${name}.vmx`), 'config.version = "8"\nscsi0:0.fileName = "disk.vmdk"');
    return { vm, raw };
  });
  await page.goto('/');
  await drop(
    page,
    machines.map(({ vm }) => vm),
  );
  await expect(page.getByRole('region', { name: 'Queue' }).getByRole('listitem')).toHaveCount(2);
  for (const [at, { raw }] of machines.entries()) {
    await page.getByRole('radio', { name: 'As a download' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    const path = join(folder, `out${at}.raw`);
    await (await download).saveAs(path);
    expect(readFileSync(path).equals(readFileSync(raw)), raw).toBe(true);
    if (at === 0) await page.getByRole('button', { name: 'Open the next image' }).click();
  }
});

test(
  'a dropped disk of OVF in pieces is joined, and a missing piece is named',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    const folder = testInfo.outputPath('.');
    const [vm, raw] = [join(folder, 'vm'), join(folder, 'disk.raw')];
    mkdirSync(vm);
    writeFileSync(raw, Buffer.alloc(1 << 20).fill(7, 0, 100_000));
    qemuImg('convert', '-f', 'raw', '-O', 'vmdk', raw, join(folder, 'disk.vmdk'));
    const disk = readFileSync(join(folder, 'disk.vmdk'));
    const size = Math.ceil(disk.length / 3);
    for (const at of [0, 1, 2])
      writeFileSync(join(vm, `disk.vmdk.00000000${at}`), disk.subarray(at * size, (at + 1) * size));
    const file = `<File id="f" href="disk.vmdk" size="${disk.length}" chunkSize="${size}"/>`;
    writeFileSync(join(vm, 'vm.ovf'), `<?xml version="1.0"?><Envelope>${file}<Disk fileRef="f"/></Envelope>`);
    await page.goto('/');
    await drop(page, vm);
    await page.getByRole('radio', { name: 'As a download' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    const path = join(folder, 'out.raw');
    await (await download).saveAs(path);
    expect(readFileSync(path).equals(readFileSync(raw))).toBe(true);
    await page.reload();
    renameSync(join(vm, 'disk.vmdk.000000002'), join(folder, 'disk.vmdk.000000002'));
    await drop(page, vm);
    await expect(
      page.getByText('disk.vmdk.000000002, a part of the file, is missing. Add all parts together.').first(),
    ).toBeVisible();
  },
);
