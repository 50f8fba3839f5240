// The folder of a virtual machine: the command, and the API. crate/src/open/machine/ has the tests of configurations.

import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { closing } from '../support/closing.js';
import { cli, decant as command, run } from '../support/command.js';
import { qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { serveFile } from '../support/remote.js';
import { byScope } from '../support/scope.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;
test.afterAll(() => decant.dispose());

const MIB = 1 << 20;

/** The folder of a machine with two disks, the second with an overlay as its current state, and their contents. */
function machine(folder: string) {
  const vm = join(folder, 'vm');
  mkdirSync(vm);
  const make = (name: string, byte: number) => {
    const raw = join(folder, `${name}.raw`);
    writeFileSync(raw, Buffer.alloc(MIB).fill(byte, 0, 100_000));
    qemuImg('convert', '-f', 'raw', '-O', 'vmdk', raw, join(vm, name));
    return readFileSync(raw);
  };
  const system = make('system.vmdk', 7);
  const data = make('data.vmdk', 9);
  qemuImg('create', '-q', '-f', 'vmdk', '-b', 'data.vmdk', '-F', 'vmdk', join(vm, 'data-000001.vmdk'));
  execFileSync('qemu-io', ['-f', 'vmdk', '-c', 'write -q -P 1 0 64k', join(vm, 'data-000001.vmdk')]);
  data.fill(1, 0, 65_536);
  const lines = [
    '.encoding = "UTF-8"',
    'config.version = "8"',
    'displayName = "A machine"',
    'scsi0:0.fileName = "system.vmdk"',
    'scsi0:1.fileName = "/vmfs/volumes/1/vm/data-000001.vmdk"',
    'ide1:0.deviceType = "cdrom-image"',
    'ide1:0.fileName = "cd.iso"',
  ];
  writeFileSync(join(vm, 'vm.vmx'), lines.join('\n'));
  writeFileSync(join(vm, 'vm.nvram'), 'nvram');
  const snapshot = [
    'uid = "3"',
    'displayName = "Before"',
    'disk0.fileName = "system.vmdk"',
    'disk1.fileName = "data.vmdk"',
  ];
  writeFileSync(join(vm, 'vm.vmsd'), snapshot.map((line) => `snapshot0.${line}`).join('\n'));
  return { vm, config: join(vm, 'vm.vmx'), disks: [system, data] as const };
}

test('a parent with the name of its child is passed, and does not replace it', ({ folder }) => {
  const [template, vm] = [join(folder, 'template'), join(folder, 'vm')];
  for (const at of [template, vm]) mkdirSync(at);
  const raw = join(folder, 'base.raw');
  writeFileSync(raw, Buffer.alloc(MIB, 7));
  qemuImg('convert', '-f', 'raw', '-O', 'vmdk', raw, join(template, 'disk.vmdk'));
  const clone = join(vm, 'disk.vmdk');
  qemuImg('create', '-q', '-f', 'vmdk', '-b', '../template/disk.vmdk', '-F', 'vmdk', clone);
  execFileSync('qemu-io', ['-f', 'vmdk', '-c', 'write -q -P 1 0 64k', clone]);
  writeFileSync(join(vm, 'vm.vmx'), 'config.version = "8"\nscsi0:0.fileName = "disk.vmdk"\n');
  const output = join(folder, 'out.raw');
  const converted = command('convert', '--with', join(template, 'disk.vmdk'), vm, output);
  expect(converted).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(readFileSync(output).equals(Buffer.alloc(MIB, 7).fill(1, 0, 65_536))).toBe(true);
});

test('a machine becomes one OVA, with or without a name, as a file and in a folder', ({ folder }) => {
  const { vm, config } = machine(folder);
  for (const named of byScope({ short: [false], full: [true, false] })) {
    if (!named) writeFileSync(config, readFileSync(config, 'latin1').replace(/^displayName.*$/m, ''), 'latin1');
    const [file, made] = [join(folder, `${named}.ova`), join(folder, `made-${named}`)];
    expect(command('convert', vm, file), `${named}`).toEqual({ status: 0, stdout: '', stderr: '' });
    for (const all of [[], ['--disk', 'all']])
      expect(command('convert', '-O', 'ova', ...all, vm, `${made}${all.length}/`)).toMatchObject({ status: 0 });
    for (const ova of [file, join(`${made}0`, 'vm.ova'), join(`${made}2`, 'vm.ova')]) {
      expect(existsSync(ova), ova).toBe(true);
      expect(command('info', '--disk', '2', ova), ova).toMatchObject({ status: 0 });
    }
    expect(readdirSync(`${made}0`)).toEqual(['vm.ova']);
  }
});

test('several disks of a machine from a pipe are refused by a sentence about standard input', async ({ folder }) => {
  machine(folder);
  execFileSync('tar', ['-cf', 'vm.tar', 'vm'], { cwd: folder });
  execFileSync('7zz', ['a', '-bd', '-tzip', 'vm.zip', 'vm'], { cwd: folder });
  const piped = execFileSync(
    'sh',
    ['-c', `cat vm.zip | "$0" "$1" convert - out/ 2>&1; echo "status $?"`, process.execPath, cli],
    {
      cwd: folder,
      encoding: 'utf8',
    },
  );
  expect(piped).toContain(
    'Standard input is a stream that can be read only once; for several disks, redirect it from a file',
  );
  expect(piped).toContain('status 2');
});

test('the command lists and converts the disks of a machine', ({ folder }) => {
  const { vm, config, disks } = machine(folder);
  for (const image of [config, vm]) {
    const listed = command('info', image);
    expect(listed).toMatchObject({ status: 0, stderr: '' });
    expect(listed.stdout).toMatch(
      /machine: A machine\n[\s\S]+--disk 1: system\.vmdk \(.+, vmdk\)\n +--disk 2: data-000001\.vmdk \(.+, vmdk\)\n/,
    );
  }
  expect(JSON.parse(command('info', '--output=json', config).stdout)).toMatchObject({
    decant: { machine: 'A machine', disks: [{ name: 'system.vmdk' }, { name: 'data-000001.vmdk' }] },
  });
  expect(command('info', '--disk', '1', config).stdout).toContain('machine: A machine\nfile format: vmdk\n');
  const output = join(folder, 'out.raw');
  for (const [disk, expected] of [
    ['1', disks[0]],
    ['data-000001.vmdk', disks[1]],
  ] as const) {
    expect(command('convert', '--disk', disk, config, output), disk).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(readFileSync(output).equals(expected), disk).toBe(true);
    rmSync(output);
  }
  const made = join(folder, 'made');
  expect(command('convert', '-q', vm, `${made}/`)).toEqual({ status: 0, stdout: '', stderr: '' });
  for (const [at, disk] of disks.entries())
    expect(readFileSync(join(made, `vm-disk${at + 1}.raw`)).equals(disk)).toBe(true);
});

test('the disks of a machine in a snapshot', FULL, async ({ folder }) => {
  const { vm, config } = machine(folder);
  expect(command('info', vm).stdout).toMatch(/Snapshot list:\n.+\n3 +Before /);
  expect(command('info', '--disk', '2', vm).stdout).toMatch(/Snapshot list:\n.+\n3 +Before /);
  const output = join(folder, 'out.raw');
  for (const snapshot of ['3', 'Before']) {
    expect(command('convert', '--snapshot', snapshot, '--disk', '2', vm, output)).toMatchObject({
      status: 0,
      stderr: '',
    });
    expect(readFileSync(output).equals(readFileSync(join(folder, 'data.vmdk.raw')))).toBe(true);
  }
  expect(command('convert', '--snapshot', 'After', '--disk', '2', vm, output)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("has no snapshot 'After'; it has 'Before (3)'"),
  });
  const companions = ['system.vmdk', 'data.vmdk', 'data-000001.vmdk', 'vm.vmsd'].map((name) => join(vm, name));
  const image = await decant.open(config, { companions, disk: 2 });
  expect(image.info.snapshots).toMatchObject([{ id: '3', name: 'Before', date: 0 }]);
  await image.close();
  rmSync(join(vm, 'vm.vmsd'));
  expect(command('info', vm).stdout).not.toContain('Snapshot list');
});

test('a snapshot inside the disk of a machine without snapshots', async ({ folder }) => {
  const disk = join(folder, 'disk.qcow2');
  qemuImg('create', '-q', '-f', 'qcow2', disk, '1M');
  const write = (byte: number) => execFileSync('qemu-io', ['-c', `write -q -P ${byte} 0 64k`, disk]);
  write(3);
  qemuImg('snapshot', '-c', 'inside', disk);
  write(4);
  const config = join(folder, 'vm.ovf');
  const text = '<Envelope><File id="f" href="disk.qcow2"/><Disk fileRef="f"/></Envelope>';
  writeFileSync(config, text);
  const image = await decant.open(config, { companions: [disk], snapshot: 'inside' });
  if (image.streamed) throw new Error('it is read in order');
  expect(image.info.snapshots).toMatchObject([{ name: 'inside' }]);
  expect(await image.read(0, 2)).toEqual(Uint8Array.of(3, 3));
  await image.close();
});

test('machines of VirtualBox and OVF, with one disk', ({ folder }) => {
  const raw = join(folder, 'disk.raw');
  writeFileSync(raw, Buffer.alloc(MIB).fill(5, 0, 100_000));
  const before = join(folder, 'before.raw');
  writeFileSync(before, Buffer.alloc(MIB).fill(4, 0, 50_000));
  const [vm, output] = [join(folder, 'vm'), join(folder, 'out.raw')];
  mkdirSync(join(vm, 'Snapshots'), { recursive: true });
  const vbox = `<?xml version="1.0"?>
<VirtualBox version="1.19-linux"><Machine uuid="{9}" name="A &amp; B"><MediaRegistry><HardDisks>
<HardDisk uuid="{1}" location="base.vdi"><HardDisk uuid="{2}" location="Snapshots/{2}.vdi"/></HardDisk>
</HardDisks></MediaRegistry><Snapshot name="one"><Hardware><AttachedDevice type="HardDisk"><Image uuid="{1}"/></AttachedDevice>
</Hardware></Snapshot><Hardware><AttachedDevice type="HardDisk"><Image uuid="{2}"/></AttachedDevice></Hardware></Machine></VirtualBox>`;
  const ovf = `<?xml version="1.0"?>
<Envelope><References><File ovf:id="f" ovf:href="a%20disk.vmdk"/></References><Disk ovf:fileRef="f"/>
<VirtualSystem ovf:id="A &amp; B"/></Envelope>`;
  for (const [config, text, disk, format] of [
    ['vm.vbox', vbox, 'Snapshots/{2}.vdi', 'vdi'],
    ['vm.ovf', ovf, 'a disk.vmdk', 'vmdk'],
  ] as const) {
    writeFileSync(join(vm, config), text);
    qemuImg('convert', '-f', 'raw', '-O', format, raw, join(vm, disk));
    expect(command('info', vm).stdout, config).toContain(`machine: A & B\nfile format: ${format}\n`);
    expect(command('convert', vm, output), config).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(readFileSync(output).equals(readFileSync(raw)), config).toBe(true);
    rmSync(output);
    if (config === 'vm.vbox') {
      qemuImg('convert', '-f', 'raw', '-O', 'vdi', before, join(vm, 'base.vdi'));
      expect(command('convert', '--snapshot', 'one', vm, output)).toEqual({ status: 0, stdout: '', stderr: '' });
      expect(readFileSync(output).equals(readFileSync(before))).toBe(true);
      rmSync(output);
    }
    if (config === 'vm.ovf') {
      writeFileSync(join(vm, 'vm.mf'), `SHA256(a disk.vmdk)= ${'0'.repeat(64)}\n`);
      const differs = command('convert', vm, output);
      expect(differs).toMatchObject({ status: 1, stderr: expect.stringContaining('that the manifest lists') });
      expect(existsSync(output)).toBe(false);
    }
    rmSync(join(vm, config));
  }
  // Alone, a configuration names its disk; without disks, it is refused as what it is.
  const alone = join(folder, 'vm.ovf');
  for (const [text, message] of [
    [ovf, "'a disk.vmdk', a disk of the virtual machine, is missing"],
    ['<?xml version="1.0"?><Envelope/>', 'an OVF descriptor'],
  ] as const) {
    writeFileSync(alone, text);
    expect(command('convert', alone, output)).toMatchObject({ status: 1, stderr: expect.stringContaining(message) });
  }
});

/** The folder of an OVF package whose disk is in three pieces, of which `without` are missing, and the content of the disk. */
function inPieces(folder: string, without: number[] = []) {
  const [vm, raw] = [join(folder, 'vm'), join(folder, 'disk.raw')];
  mkdirSync(vm);
  const content = Buffer.alloc(MIB);
  for (let at = 0; at < MIB; at += 4) content.writeUInt32LE(Math.imul(at, 2654435761) >>> 0, at);
  writeFileSync(raw, content);
  qemuImg('convert', '-f', 'raw', '-O', 'vmdk', '-o', 'subformat=streamOptimized', raw, join(vm, 'disk.vmdk'));
  const { size } = statSync(join(vm, 'disk.vmdk'));
  const piece = Math.ceil(size / 3);
  execFileSync('split', ['-b', `${piece}`, '-d', '-a', '9', 'disk.vmdk', 'disk.vmdk.'], { cwd: vm });
  rmSync(join(vm, 'disk.vmdk'));
  const names = [0, 1, 2].map((number) => `disk.vmdk.00000000${number}`);
  for (const number of without) rmSync(join(vm, names[number]!));
  const file = `<File ovf:id="f" ovf:href="disk.vmdk" ovf:size="${size}" ovf:chunkSize="${piece}"/>`;
  writeFileSync(join(vm, 'vm.ovf'), `<?xml version="1.0"?><Envelope>${file}<Disk ovf:fileRef="f"/></Envelope>`);
  return { vm, config: join(vm, 'vm.ovf'), names, content };
}

test('a disk of OVF in pieces is joined', async ({ folder }) => {
  const { vm, config, names, content } = inPieces(folder);
  const output = join(folder, 'out.raw');
  for (const image of byScope({ short: [vm], full: [vm, config] })) {
    expect(command('info', image)).toMatchObject({ status: 0, stdout: expect.stringContaining('file format: vmdk\n') });
    expect(command('convert', image, output)).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(readFileSync(output).equals(content)).toBe(true);
    rmSync(output);
  }
  const given = names.flatMap((name) => ['--with', join(vm, name)]);
  renameSync(config, join(folder, 'vm.ovf'));
  expect(command('convert', ...given, join(folder, 'vm.ovf'), output)).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(readFileSync(output).equals(content)).toBe(true);
  const companions = names.map((name) => ({ name, source: new Blob([readFileSync(join(vm, name))]) })).reverse();
  const image = await decant.open(join(folder, 'vm.ovf'), { companions, name: 'a machine' });
  expect(image.disks).toMatchObject([{ name: names[0], format: 'vmdk' }]);
  expect(image.info).toMatchObject({ format: 'vmdk', virtualSize: MIB });
  await image.close();
  writeFileSync(join(vm, 'vm.mf'), `SHA256(${names[0]})= ${'0'.repeat(64)}\n`);
  renameSync(join(folder, 'vm.ovf'), config);
  expect(command('convert', config, output)).toMatchObject({ status: 0, stderr: expect.stringContaining('manifest') });
});

for (const [without, role, details] of [
  [[0], 'disk', {}],
  [[1], 'part', FULL],
  [[2], 'part', {}],
  [[1, 2], 'part', FULL],
] as const) {
  test(`a missing piece of OVF is named: ${without}`, details, async ({ folder }) => {
    const { vm, config, names } = inPieces(folder, [...without]);
    const file = names[without[0]]!;
    const output = join(folder, 'out.raw');
    expect(command('convert', vm, output)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`'${file}', a `),
    });
    const companions = names.map((name) => join(vm, name)).filter((path) => existsSync(path));
    await expect(decant.open(config, { companions })).rejects.toMatchObject({
      kind: 'missing-file',
      fields: { file, role },
    });
    expect(existsSync(output)).toBe(false);
  });
}

test('a disk whose file is missing is named', ({ folder }) => {
  const { vm, config, disks } = machine(folder);
  renameSync(join(vm, 'data-000001.vmdk'), join(folder, 'elsewhere.vmdk'));
  expect(command('info', config).stdout).toContain('data-000001.vmdk (missing; --with FILE)');
  const output = join(folder, 'out.raw');
  const refused = command('convert', config, output);
  expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining("data-000001.vmdk' is missing") });
  for (const all of [[], ['--disk', 'all']])
    expect(command('convert', ...all, config, `${folder}/made/`)).toMatchObject({ status: 2 });
  const elsewhere = `data-000001.vmdk=${join(folder, 'elsewhere.vmdk')}`;
  expect(command('convert', '--with', elsewhere, '--disk', '2', config, output)).toMatchObject({
    status: 0,
    stderr: '',
  });
  expect(readFileSync(output).equals(disks[1])).toBe(true);
});

test('a missing disk keeps its number', FULL, async ({ folder }) => {
  const { vm, config, disks } = machine(folder);
  rmSync(join(vm, 'system.vmdk'));
  const rows = /--disk 1: system\.vmdk \(missing; --with FILE\)\n.*--disk 2: data-000001\.vmdk \(.+, vmdk\)\n/;
  expect(command('info', config).stdout).toMatch(rows);
  const output = join(folder, 'out.raw');
  const refused = command('convert', config, output);
  expect(refused).toMatchObject({ status: 2, stderr: expect.stringMatching(rows) });
  expect(refused.stderr).not.toContain('--disk all');
  for (const disk of ['1', 'system.vmdk']) {
    const missing = command('convert', '--disk', disk, config, output);
    expect(missing, disk).toMatchObject({ status: 1, stderr: expect.stringContaining("'system.vmdk', a disk") });
  }
  expect(command('convert', '--disk', '3', config, output)).toMatchObject({ status: 2 });
  expect(command('convert', '--disk', '2', config, output)).toMatchObject({ status: 0, stderr: '' });
  expect(readFileSync(output).equals(disks[1])).toBe(true);
  const companions = [join(vm, 'data-000001.vmdk'), join(vm, 'data.vmdk')];
  const image = await decant.open(config, { companions, disk: 2 });
  expect(image.disks).toMatchObject([{ name: 'system.vmdk', size: 0, missing: true }, { format: 'vmdk' }]);
  await image.close();
});

test('a disk whose file is unclear is refused', async ({ folder }) => {
  const { vm, config } = machine(folder);
  const named = (name: string) => ({ name, source: join(vm, 'data-000001.vmdk') });
  const open = (names: string[], disk = 2) => decant.open(config, { disk, companions: names.map(named) });
  const unclear = { kind: 'usage', code: 'ambiguous-file', fields: { file: 'data-000001.vmdk' } };
  await expect(open(['a/data-000001.vmdk', 'b/data-000001.vmdk'])).rejects.toMatchObject(unclear);
  // The path in the configuration decides.
  const image = await open(['a/data-000001.vmdk', '/vmfs/volumes/1/vm/data-000001.vmdk']);
  await image.close();
  // In any case, if no name is the same.
  await (await open(['DATA-000001.vmdk'])).close();
  const lines = ['scsi0:0.fileName = "/one/data-000001.vmdk"', 'scsi0:1.fileName = "/two/data-000001.vmdk"'];
  writeFileSync(config, ['config.version = "8"', ...lines].join('\n'));
  await expect(open(['data-000001.vmdk'])).rejects.toMatchObject(unclear);
});

test('a folder is named, and is no raw disk', ({ folder }) => {
  const { vm, disks } = machine(folder);
  writeFileSync(join(vm, '._vm.vmx'), 'of macOS');
  const output = join(folder, 'out.raw');
  for (const format of byScope({ short: ['raw'], full: ['raw', 'vmdk'] }))
    expect(command('convert', '-f', format, vm, output)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('is a folder'),
    });
  expect(existsSync(output)).toBe(false);
  expect(run(process.execPath, [cli, 'convert', '-q', '.', '../out/'], { cwd: vm })).toEqual({
    status: 0,
    stdout: '',
    stderr: '',
  });
  for (const [at, disk] of disks.entries())
    expect(readFileSync(join(folder, 'out', `vm-disk${at + 1}.raw`)).equals(disk)).toBe(true);
  for (const args of byScope({ short: [[vm]], full: [[vm], ['--disk', '1', vm], [join(vm, 'vm.vmx')]] }))
    expect(command('info', ...args).stdout).not.toContain('disk size');
});

test('the disk that fails is named, and no empty folder stays', FULL, ({ folder }) => {
  const { vm, disks } = machine(folder);
  const [made, outer] = [join(folder, 'made'), join(folder, 'a')];
  for (const name of ['data.vmdk', 'system.vmdk']) {
    truncateSync(join(vm, name), 70_000);
    const failed = command('convert', '-q', '--disk', 'all', vm, `${made}/`);
    const at = name === 'data.vmdk' ? 2 : 1;
    const disk = at === 2 ? 'data-000001.vmdk' : name;
    expect(failed).toMatchObject({ status: 1, stderr: expect.stringContaining(`'${disk}', disk ${at} of 2: `) });
    if (at === 2) expect(readFileSync(join(made, 'vm-disk1.raw')).equals(disks[0])).toBe(true);
    else expect(existsSync(made)).toBe(false);
    rmSync(made, { recursive: true, force: true });
  }
  expect(command('convert', '-q', vm, join(outer, 'b', 'c/'))).toMatchObject({ status: 1 });
  expect(existsSync(outer)).toBe(false);
  // A folder that was there stays.
  mkdirSync(made);
  expect(command('convert', '-q', vm, made)).toMatchObject({ status: 1 });
  expect(existsSync(made)).toBe(true);
});

test('the API opens a disk of a machine', async ({ folder }) => {
  const { vm, config, disks } = machine(folder);
  const names = ['vm.nvram', 'data.vmdk', 'data-000001.vmdk', 'system.vmdk'];
  for (const companions of [
    names.map((name) => join(vm, name)),
    names.map((name) => ({ name, source: new Blob([readFileSync(join(vm, name))]) })),
  ]) {
    await expect(decant.open(config)).rejects.toMatchObject({
      code: 'missing-file',
      fields: { file: 'system.vmdk', role: 'disk', neededBy: config, disks: [{ missing: true }, { missing: true }] },
    });
    await expect(decant.open(config, { companions })).rejects.toMatchObject({
      kind: 'usage',
      code: 'several-images',
      fields: { count: 2, machine: 'A machine', disks: [{ name: 'system.vmdk' }, { name: 'data-000001.vmdk' }] },
    });
    const image = (await decant.open(config, { companions, disk: 2 })) as Decant.DiskImage;
    expect(image.disks).toMatchObject([{ name: 'system.vmdk' }, { name: 'data-000001.vmdk', format: 'vmdk' }]);
    expect(image.info).toMatchObject({ machine: 'A machine', format: 'vmdk', unusedCompanions: [] });
    const output = join(folder, 'api.raw');
    await image.convert(output);
    expect(readFileSync(output).equals(disks[1])).toBe(true);
    const files = new Set<string>();
    for await (const { file } of image.map()) if (file !== undefined) files.add(file);
    expect([...files].map((file) => file.replace(`${vm}/`, '')).toSorted()).toEqual(['data-000001.vmdk', 'data.vmdk']);
    await image.close();
    rmSync(output);
  }
});

test('disks that VirtualBox has encrypted', async ({ folder }) => {
  const vm = join(folder, 'vm');
  mkdirSync(vm);
  for (const name of ['secret.vdi', 'plain.vdi']) qemuImg('create', '-q', '-f', 'vdi', join(vm, name), '1M');
  const disk = (name: string, key = '') => `<HardDisk uuid="{${name}}" location="${name}.vdi">${key}</HardDisk>`;
  const image = (name: string) => `<AttachedDevice type="HardDisk"><Image uuid="{${name}}"/></AttachedDevice>`;
  const disks = disk('secret', '<Property name="CRYPT/KeyId" value="a"/>') + disk('plain');
  const config = join(vm, 'vm.vbox');
  writeFileSync(config, `<?xml version="1.0"?><VirtualBox >${disks}${image('secret')}${image('plain')}</VirtualBox>`);
  const zip = join(folder, 'vm.zip');
  execFileSync('python3', ['-m', 'zipfile', '-c', zip, 'secret.vdi', 'plain.vdi', 'vm.vbox'], { cwd: vm });
  const output = join(folder, 'out.raw');
  for (const image of [vm, zip]) {
    const refused = command('convert', '--disk', 'secret.vdi', image, output);
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("uses VirtualBox's encryption") });
    expect(existsSync(output)).toBe(false);
  }
  expect(command('convert', '-q', '--disk', 'plain.vdi', zip, output)).toMatchObject({ status: 0 });
  const companions = ['secret.vdi', 'plain.vdi'].map((name) => join(vm, name));
  await expect(decant.open(config, { companions, disk: 1 })).rejects.toMatchObject({
    kind: 'unsupported',
    code: 'encrypted',
    fields: { by: 'VirtualBox', file: 'secret.vdi' },
  });
});

test('a configuration that VMware has encrypted', ({ folder }) => {
  const config = join(folder, 'vm.vmx');
  writeFileSync(config, '.encoding = "UTF-8"\ndisplayName = "a"\nencryption.keySafe = "vmware:key/list/(a)"\n');
  expect(command('info', config)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("uses VMware's encryption"),
  });
});

/** A source that counts how often each of its bytes is read before the conversion. */
function counted(bytes: Uint8Array) {
  const reads: [start: number, end: number][] = [];
  const source: Decant.Source = {
    size: bytes.length,
    read: async (offset, length) => {
      reads.push([offset, offset + length]);
      return bytes.slice(offset, offset + length);
    },
  };
  return { source, reads, startReads: () => reads.filter(([start]) => start < 4096).length };
}

test('each file is read once at its start, and other disks are not read', async ({ folder }) => {
  const { vm, config } = machine(folder);
  const names = ['system.vmdk', 'data.vmdk', 'data-000001.vmdk', 'vm.vmsd'];
  const files = new Map(names.map((name) => [name, counted(readFileSync(join(vm, name)))]));
  const companions = names.map((name) => ({ name, source: files.get(name)!.source }));
  const configuration = counted(readFileSync(config));
  const image = await decant.open(configuration.source, { name: 'vm.vmx', companions, disk: 2 });
  expect(image.info.format).toBe('vmdk');
  const counts = names.map((name) => files.get(name)!.startReads());
  expect({ configuration: configuration.startReads(), counts }).toEqual({ configuration: 1, counts: [0, 1, 1, 1] });
  await image.close();
  // An archive with the same files, and one of its disks alone.
  const tar = join(folder, 'vm.tar');
  execFileSync('tar', ['-cf', tar, '-C', vm, ...names, 'vm.vmx']);
  const archive = counted(readFileSync(tar));
  const inside = await decant.open(archive.source, { name: 'vm.tar', disk: 2 });
  expect(inside.disks).toMatchObject([{ name: 'system.vmdk' }, { name: 'data-000001.vmdk' }]);
  await inside.close();
  const seen = new Set(archive.reads.map(String));
  expect(archive.reads.length).toBe(seen.size);
});

test('a machine in a zip archive, compressed, with a disk in several files', ({ folder }) => {
  const vm = join(folder, 'vm');
  mkdirSync(vm);
  const raw = join(folder, 'raw');
  writeFileSync(raw, Buffer.alloc(3 * MIB, 'some data '));
  qemuImg('convert', '-f', 'raw', '-O', 'vmdk', '-o', 'subformat=twoGbMaxExtentSparse', raw, join(vm, 'disk.vmdk'));
  writeFileSync(join(vm, 'vm.vmx'), 'config.version = "8"\nscsi0:0.fileName = "disk.vmdk"');
  execFileSync('python3', ['-m', 'zipfile', '-c', 'vm.zip', 'vm'], { cwd: folder });
  const output = join(folder, 'out.raw');
  expect(command('convert', '-q', join(folder, 'vm.zip'), output)).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(readFileSync(output).equals(readFileSync(raw))).toBe(true);
  const packed = command('convert', '--salvage', join(folder, 'vm.zip'), join(folder, 'salvaged.raw'));
  expect(packed.status).toBe(0);
});

test('compressed disks of a package are converted into a folder', ({ folder }) => {
  const raws = [1, 2].map((byte) => {
    const raw = join(folder, `${byte}.raw`);
    writeFileSync(raw, Buffer.alloc(MIB).fill(byte, 0, 100_000));
    qemuImg('convert', '-f', 'raw', '-O', 'qcow2', raw, join(folder, `${byte}.qcow2`));
    execFileSync('gzip', [join(folder, `${byte}.qcow2`)]);
    return readFileSync(raw);
  });
  const files = '<File id="1" href="1.qcow2.gz"/><File id="2" href="2.qcow2.gz"/>';
  writeFileSync(join(folder, 'm.ovf'), `<Envelope>${files}<Disk fileRef="1"/><Disk fileRef="2"/></Envelope>`);
  execFileSync('tar', ['-cf', 'vm.ova', 'm.ovf', '1.qcow2.gz', '2.qcow2.gz'], { cwd: folder });
  execFileSync('python3', ['-m', 'zipfile', '-c', 'vm.zip', 'm.ovf', '1.qcow2.gz', '2.qcow2.gz'], { cwd: folder });
  for (const packed of ['vm.ova', 'vm.zip']) {
    const made = join(folder, `${packed}-made`);
    for (const spool of byScope({ short: [[]], full: [[], [`--spool=${folder}`]] })) {
      expect(command('convert', '-q', ...spool, join(folder, packed), `${made}/`)).toMatchObject({
        status: 0,
        stderr: '',
      });
      for (const [at, raw] of raws.entries())
        expect(readFileSync(join(made, `vm-disk${at + 1}.raw`)).equals(raw)).toBe(true);
      rmSync(made, { recursive: true });
    }
  }
});

/** Stores the folder `vm` in a zip archive: Python's command compresses. */
const STORED = `python3 -c "import os, zipfile
with zipfile.ZipFile('packed', 'w') as packed: [packed.write('vm/' + name) for name in os.listdir('vm')]"`;

/** How the folder `vm` becomes the file `packed`. */
const PACKINGS = {
  tar: 'tar -cf packed vm',
  'tar.gz': 'tar -czf packed vm',
  'zip, stored': STORED,
  'a tar in a zip': 'tar -cf vm.tar vm && python3 -m zipfile -c packed vm.tar',
  'a tar in a tar.gz': 'tar -cf vm.tar vm && tar -czf packed vm.tar',
};

/** A machine in the folder `vm`: its disk is over a base, and a left-over layer is over that disk. Returns the content of the disk. */
function withLeftOver(folder: string, kind: 'vmx' | 'vbox' | 'ovf'): Buffer {
  const vm = join(folder, 'vm');
  mkdirSync(vm);
  const disk = Buffer.alloc(MIB).fill(7, 0, 100_000);
  writeFileSync(join(folder, 'raw'), disk);
  const at = (name: string) => join(vm, name);
  const layer = (name: string, below: string, byte: number) => {
    qemuImg('create', '-q', '-f', 'qcow2', '-b', below, '-F', 'qcow2', at(name));
    execFileSync('qemu-io', ['-f', 'qcow2', '-c', `write -q -P ${byte} 0 64k`, at(name)]);
  };
  qemuImg('convert', '-f', 'raw', '-O', 'qcow2', join(folder, 'raw'), at('base.qcow2'));
  layer('disk.qcow2', 'base.qcow2', 1);
  layer('left-over.qcow2', 'disk.qcow2', 2);
  const attached = '<AttachedDevice type="HardDisk"><Image uuid="{1}"/></AttachedDevice>';
  const text = {
    vmx: 'config.version = "8"\nscsi0:0.fileName = "disk.qcow2" # the disk',
    vbox: `<VirtualBox ><HardDisk uuid="{1}" location="disk.qcow2"/>${attached}</VirtualBox>`,
    ovf: '<Envelope><File id="f" href="disk.qcow2"/><Disk fileRef="f"/></Envelope>',
  }[kind];
  writeFileSync(at(`vm.${kind}`), text);
  return disk.fill(1, 0, 65_536);
}

for (const [kind, details] of [
  ['vmx', {}],
  ['vbox', FULL],
  ['ovf', FULL],
] as const) {
  test(`the disk of a machine, wherever its files lie: ${kind}`, details, async ({ folder }) => {
    const disk = withLeftOver(folder, kind);
    const output = join(folder, 'out.raw');
    const check = async (what: string, input: Decant.Input, options: Decant.OpenOptions = {}) => {
      await closing(await decant.open(input, { spool: folder, ...options }), (image) => image.convert(output));
      expect(readFileSync(output).equals(disk), what).toBe(true);
      rmSync(output);
    };
    const names = ['left-over.qcow2', 'disk.qcow2', 'base.qcow2'];
    await check('loose', join(folder, 'vm', `vm.${kind}`), {
      companions: names.map((name) => join(folder, 'vm', name)),
    });
    for (const [what, script] of Object.entries(PACKINGS)) {
      execFileSync('sh', ['-c', script], { cwd: folder });
      await check(what, join(folder, 'packed'));
      const remote = await serveFile(readFileSync(join(folder, 'packed')));
      try {
        await check(`${what}, on a server`, remote.url);
      } finally {
        await remote.close();
      }
      for (const name of ['packed', 'vm.tar']) rmSync(join(folder, name), { force: true });
    }
  });
}
