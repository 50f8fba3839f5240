// Conversions to an OVA: the archive as other programs read it, and the hardware of the machine. crate/tests/outputs/ova.rs has the rules of
// descriptors.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, openSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { cli, decant as command, run } from '../support/command.js';
import { expectSame, images, qemuImg, small } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { byScope } from '../support/scope.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;
test.afterAll(() => decant.dispose());

const UUID = '01234567-89ab-cdef-0123-456789abcdef';

const listed = (path: string): string[] => execFileSync('tar', ['-tf', path], { encoding: 'utf8' }).trim().split('\n');

/** Extracts an OVA to `folder`. Returns its descriptor. */
function extracted(path: string, folder: string): string {
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-C', folder, '-xf', path]);
  return readFileSync(join(folder, listed(path)[0]!), 'utf8');
}

test('other programs read an OVA, and Decant reads it back', async ({ folder }) => {
  const path = join(folder, '(ü) web_1.ova');
  expect(command('convert', small.zlib(), path)).toEqual({ status: 0, stdout: '', stderr: '' });
  const names = ['web_1.ovf', 'web_1-disk1.vmdk', 'web_1.mf'];
  expect(listed(path)).toEqual(names);
  const content = join(folder, 'content');
  const descriptor = extracted(path, content);
  const [, vmdk, manifest] = names.map((name) => readFileSync(join(content, name))) as [Buffer, Buffer, Buffer];
  const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');
  const lines = [`SHA256(web_1.ovf)= ${sha256(descriptor)}`, `SHA256(web_1-disk1.vmdk)= ${sha256(vmdk)}`];
  expect(manifest.toString()).toBe(`${lines.join('\n')}\n`);
  expect(descriptor).toMatch(new RegExp(`ovf:href="web_1-disk1\\.vmdk" ovf:size="${vmdk.length}" *\\/>`));
  qemuImg('compare', join(content, 'web_1-disk1.vmdk'), small.raw());
  // The manifest of a local archive is checked.
  const back = join(folder, 'back.raw');
  expect(command('convert', path, back)).toEqual({ status: 0, stdout: '', stderr: '' });
  expectSame(back, small.raw());
});

test('each target gets the same bytes', async ({ folder }) => {
  const options = { format: 'ova', formatOptions: { uuid: UUID, name: 'vm' }, twoPass: true };
  const image = await decant.open(small.zlib());
  const path = join(folder, 'other-name.ova');
  const { outputSize } = await image.convert(path, options);
  const expected = readFileSync(path);
  expect(outputSize).toBe(expected.length);
  const parts: Uint8Array[] = [];
  const stream = new WritableStream<Uint8Array>({ write: (part) => void parts.push(part.slice()) });
  await image.convert(stream, options);
  expect(Buffer.concat(parts).equals(expected)).toBe(true);
  await image.close();
  const piped = join(folder, 'piped.ova');
  const args = ['convert', '-O', 'ova', '-o', `uuid=${UUID},name=vm`, small.zlib(), '-'];
  for (const more of byScope({ short: ['--spool'], full: ['--two-pass', '--spool'] })) {
    const stdio = ['ignore', openSync(piped, 'w'), 'pipe'] as const;
    expect(run(process.execPath, [cli, ...args, more], { stdio: [...stdio] })).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(piped).equals(expected), more).toBe(true);
  }
  const refused = run(process.execPath, [cli, ...args], { stdio: ['ignore', openSync(piped, 'w'), 'pipe'] });
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('--two-pass') });
});

/** Writes the folder of a machine of VMware. Returns its configuration. */
function machine(folder: string): string {
  mkdirSync(join(folder, 'vm'));
  qemuImg('create', '-q', '-f', 'vmdk', join(folder, 'vm', 'a.vmdk'), '1M');
  const lines = [
    '.encoding = "UTF-8"',
    'config.version = "8"',
    'displayName = "My VM"',
    'memsize = "4096"',
    'numvcpus = "4"',
    'firmware = "efi"',
    'guestOS = "ubuntu-64"',
    'sata0:0.fileName = "a.vmdk"',
    'ethernet0.present = "TRUE"',
    'ethernet0.virtualDev = "vmxnet3"',
    'ethernet1.present = "TRUE"',
  ];
  const config = join(folder, 'vm', 'vm.vmx');
  writeFileSync(config, lines.join('\n'));
  return config;
}

test('a machine keeps its hardware, unless options say otherwise', async ({ folder }) => {
  const config = machine(folder);
  const hardware = {
    cpus: 4,
    memory: 2 ** 32,
    firmware: 'efi',
    os: 'ubuntu',
    controller: 'sata',
    network: ['VMXNET3', 'E1000'],
  };
  expect(JSON.parse(command('info', '--output=json', config).stdout).decant.hardware).toEqual(hardware);
  expect(command('info', config).stdout).toContain(
    '\nhardware: 4 CPUs, 4 GiB of memory, efi, ubuntu, sata, VMXNET3, E1000\n',
  );
  const path = join(folder, 'out.ova');
  expect(command('convert', config, path)).toEqual({ status: 0, stdout: '', stderr: '' });
  const kept = extracted(path, join(folder, 'kept'));
  for (const text of [
    '>4 virtual CPU(s)<',
    '<rasd:VirtualQuantity>4096<',
    'vmw:value="efi"',
    'ovf:id="94" vmw:osType="ubuntu64Guest"',
    '<rasd:ResourceSubType>vmware.sata.ahci<',
    '<rasd:ResourceSubType>VMXNET3<',
    '<Name>out<',
  ]) {
    expect(kept).toContain(text);
  }
  // What is read back is what was written.
  const back = JSON.parse(command('info', '--output=json', path).stdout).decant;
  expect(back).toMatchObject({ machine: 'out', hardware });
  const args = ['--cpus', '1', '--memory', '512', '--firmware', 'bios', '--os', 'windows2019', '-o', 'network=none'];
  expect(command('convert', ...args, config, path)).toEqual({ status: 0, stdout: '', stderr: '' });
  const changed = { ...hardware, cpus: 1, memory: 2 ** 29, firmware: 'bios', os: 'windows2019', network: [] };
  expect(JSON.parse(command('info', '--output=json', path).stdout).decant.hardware).toEqual(changed);
  // A target without a name gets that of the machine.
  const spooled = run(process.execPath, [cli, 'convert', '-O', 'ova', '--spool', config, '-'], {
    stdio: ['ignore', openSync(path, 'w'), 'pipe'],
  });
  expect(spooled).toMatchObject({ status: 0, stderr: '' });
  expect(listed(path)).toEqual(['My-VM.ovf', 'My-VM-disk1.vmdk', 'My-VM.mf']);
});

test('a function is asked for a password once, and a cancel ends the conversion', async ({ folder }) => {
  let asked = 0;
  const password = () => {
    asked += 1;
    return 'wrong';
  };
  const path = join(folder, 'out.ova');
  const locked = await decant.open(images.luks(), { password });
  await expect(locked.convert(path, { format: 'ova' })).rejects.toMatchObject({ kind: 'password' });
  expect(asked).toBe(1);
  await locked.close();
  const image = await decant.open(small.zlib());
  const { target, aborted } = aborting();
  const converting = image.convert(target, { format: 'ova', twoPass: true, signal: AbortSignal.abort() });
  await expect(converting).rejects.toMatchObject({ kind: 'cancelled', message: 'The conversion was cancelled' });
  expect(aborted()).toBe(true);
  await image.close();
});

/** A target that counts how it ends. */
function aborting() {
  let isAborted = false;
  const target = {
    write: async () => {},
    close: async () => {},
    abort: async () => {
      isAborted = true;
    },
  };
  return { target, aborted: () => isAborted };
}

const ESP = 'C12A7328-F81F-11D2-BA4B-00A0C93EC93B';

// (what, partitions for sfdisk, hardware)
for (const [what, table, shown] of [
  ['UEFI', `label: gpt\nsize=4MiB, type=${ESP}\ntype=linux\n`, { firmware: 'efi', os: 'linux' }],
  [
    'UEFI and BIOS',
    `label: gpt\nsize=4MiB, type=${ESP}\nsize=1MiB, type=21686148-6449-6E6F-744E-656564454649\ntype=linux\n`,
    { firmware: 'bios', os: 'linux' },
  ],
  [
    'Windows',
    `label: gpt\nsize=4MiB, type=${ESP}\nsize=1MiB, type=E3C9E316-0B5C-4DB8-817D-F92DF00215AE\n`,
    { firmware: 'efi', os: 'windows10', controller: 'lsilogicsas' },
  ],
  [
    'neither',
    'label: gpt\ntype=linux\n',
    { firmware: 'bios', os: 'linux', controller: 'lsilogic', cpus: 2, memory: 2 ** 31 },
  ],
] as const) {
  test(`the disk shows the hardware: ${what}`, what === 'Windows' ? {} : FULL, ({ folder }) => {
    const [raw, path] = [join(folder, 'disk.raw'), join(folder, 'out.ova')];
    writeFileSync(raw, '');
    truncateSync(raw, 16 << 20);
    execFileSync('sfdisk', ['-q', raw], { input: table });
    expect(command('convert', '-f', 'raw', raw, path)).toMatchObject({ status: 0, stderr: '' });
    expect(JSON.parse(command('info', '--output=json', path).stdout).decant.hardware).toMatchObject(shown);
  });
}

test('virt-v2v finds the machine, and compares it with the manifest', FULL, ({ folder }) => {
  const path = join(folder, 'vm.ova');
  const hardware = [
    '--cpus',
    '4',
    '--memory',
    '3G',
    '--firmware',
    'efi',
    '-o',
    'controller=sata,network=E1000+VMXNET3',
  ];
  expect(command('convert', ...hardware, small.zlib(), path)).toMatchObject({ status: 0 });
  const read = () => run('virt-v2v', ['-i', 'ova', path, '--print-source']);
  const found = read();
  expect(found).toMatchObject({ status: 0, stderr: '' });
  for (const line of [
    /source name: vm\n/,
    /memory: 3221225472 \(bytes\)\n/,
    /nr vCPUs: 4\n/,
    /firmware: uefi\n/,
    /disks:\n\s+0 \[sata\]\n/,
    /\[e1000\]\n.*\[vmxnet3\]\n/,
  ]) {
    expect(found.stdout).toMatch(line);
  }
  const bytes = readFileSync(path);
  // In the disk.
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(path, bytes);
  expect(read()).toMatchObject({ status: 1, stderr: expect.stringContaining('manifest') });
});
