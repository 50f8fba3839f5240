// The configuration and the disks in the folder of a virtual machine. e2e/node/split.spec.ts has the parts of split files.

import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { test } from '../targets/node/folder.test-support.js';
import { filesBeside, isMachine, machineIn } from './files-beside.js';

/** Makes empty files. */
function make(folder: string, ...names: string[]): void {
  for (const name of names) writeFileSync(join(folder, name), '');
}

test('only regular files, and links to such, are those of a machine', async ({ folder }) => {
  mkdirSync(join(folder, 'Snapshots'));
  mkdirSync(join(folder, 'folder.vmdk'));
  make(folder, 'vm.vmx', '._vm.vmx', 'a.vmdk', '._a.vmdk', 'given.vmdk', 'vm.nvram', 'Snapshots/b.vdi');
  symlinkSync('nowhere.vbox', join(folder, 'gone.vbox'));
  symlinkSync('nowhere.vmdk', join(folder, 'gone.vmdk'));
  symlinkSync('/dev/zero', join(folder, 'device.raw'));
  symlinkSync('a.vmdk', join(folder, 'link.vmdk'));
  execFileSync('mkfifo', [join(folder, 'pipe.img'), join(folder, 'pipe.ovf')]);
  const config = join(folder, 'vm.vmx');
  expect(await machineIn(folder)).toBe(config);
  const found = await filesBeside(config, [
    { name: 'given.vmdk', file: '/x/disk.vmdk' },
    { name: undefined, file: join(folder, 'Snapshots', '..', 'link.vmdk') },
    // A parent with the name of its child.
    { name: undefined, file: '/template/a.vmdk' },
  ]);
  expect(found.toSorted()).toEqual(['Snapshots/b.vdi', 'a.vmdk'].map((name) => join(folder, name)));
});

test('a folder with several configurations is refused, and they are named', async ({ folder }) => {
  make(folder, 'b.vmx', 'a.vbox', 'a.vmdk');
  await expect(machineIn(folder)).rejects.toMatchObject({
    kind: 'usage',
    message: `'${folder}' contains the configurations of several virtual machines: 'a.vbox', 'b.vmx'; state one`,
  });
  expect(await machineIn(join(folder, 'b.vmx'))).toBe(join(folder, 'b.vmx'));
});

test('the description of a disk is opened with the images in its folder', async ({ folder }) => {
  make(folder, 'DiskDescriptor.xml', 'a.hds', 'b.HDS', 'a.hds.drh');
  const description = join(folder, 'DiskDescriptor.xml');
  expect(await machineIn(folder)).toBe(description);
  expect((await filesBeside(description, [])).toSorted()).toEqual(['a.hds', 'b.HDS'].map((name) => join(folder, name)));
});

test('a folder or file without a configuration stays as it is', async ({ folder }) => {
  make(folder, 'a.vmdk');
  for (const path of [folder, join(folder, 'a.vmdk'), join(folder, 'nothing')])
    expect(await machineIn(path)).toBe(path);
  expect(await isMachine(folder)).toBe(true);
  expect(await isMachine('VM.OVF')).toBe(true);
  expect(await isMachine(join(folder, 'a.vmdk'))).toBe(false);
});
