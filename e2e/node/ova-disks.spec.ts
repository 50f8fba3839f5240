// OVAs with all disks of a machine. crate/tests/outputs/ova_disks.rs has the bytes.

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type * as Decant from '../../dist/node.js';
import { cli, decant as command, run } from '../support/command.js';
import { PASSWORD, qemuImg, small } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { byScope } from '../support/scope.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;
test.afterAll(() => decant.dispose());

const MIB = 1 << 20;
const UUID = 'uuid=01234567-89ab-cdef-0123-456789abcdef';

/** A disk with data and zeros. */
const disk = (byte: number, size = MIB): Buffer =>
  Buffer.alloc(size)
    .fill(byte, 0, 100_000)
    .fill('end', size - 512);

/** The folder of a machine with a VMDK, the delta of a snapshot over a VMDK, and a qcow2. Returns its configuration and its disks. */
function machine(folder: string) {
  const vm = join(folder, 'vm');
  mkdirSync(vm);
  const make = (name: string, format: string, content: Buffer) => {
    const raw = join(folder, 'disk.raw');
    writeFileSync(raw, content);
    qemuImg('convert', '-f', 'raw', '-O', format, raw, join(vm, name));
  };
  const disks = [disk(7), disk(9, 3 * MIB), disk(8, 2 * MIB)];
  make('system.vmdk', 'vmdk', disks[0]!);
  make('data.vmdk', 'vmdk', disks[1]!);
  make('log.qcow2', 'qcow2', disks[2]!);
  qemuImg('create', '-q', '-f', 'vmdk', '-b', 'data.vmdk', '-F', 'vmdk', join(vm, 'data-000001.vmdk'));
  execFileSync('qemu-io', ['-f', 'vmdk', '-c', 'write -q -P 1 0 64k', join(vm, 'data-000001.vmdk')]);
  disks[1]!.fill(1, 0, 65_536);
  const lines = [
    '.encoding = "UTF-8"',
    'config.version = "8"',
    'displayName = "My VM"',
    'memsize = "4096"',
    'sata0:0.fileName = "system.vmdk"',
    'sata0:1.fileName = "data-000001.vmdk"',
    'sata0:2.fileName = "log.qcow2"',
  ];
  const config = join(vm, 'vm.vmx');
  writeFileSync(config, lines.join('\n'));
  return { vm, config, disks };
}

const listed = (path: string): string[] => execFileSync('tar', ['-tf', path], { encoding: 'utf8' }).trim().split('\n');

/** Other programs read the disks of the OVA at `path`. */
function expectDisks(folder: string, path: string, disks: Buffer[]): void {
  const content = join(folder, 'content');
  rmSync(content, { recursive: true, force: true });
  mkdirSync(content);
  execFileSync('tar', ['-C', content, '-xf', path]);
  const files = readdirSync(content)
    .filter((name) => name.endsWith('.vmdk'))
    .sort();
  expect(files).toHaveLength(disks.length);
  for (const [at, expected] of disks.entries()) {
    const raw = join(folder, 'back.raw');
    qemuImg('convert', '-f', 'vmdk', '-O', 'raw', join(content, files[at]!), raw);
    expect(readFileSync(raw).equals(expected), files[at]).toBe(true);
  }
}

test('an OVA has all disks of a machine, unless one is chosen', ({ folder }) => {
  const { vm, config, disks } = machine(folder);
  const path = join(folder, 'out.ova');
  const convert = (...args: string[]) => command('convert', '-o', UUID, ...args, path);
  expect(convert(config)).toEqual({ status: 0, stdout: '', stderr: '' });
  const names = ['out.ovf', 'out-disk1.vmdk', 'out-disk2.vmdk', 'out-disk3.vmdk', 'out.mf'];
  expect(listed(path)).toEqual(names);
  expectDisks(folder, path, disks);
  const made = readFileSync(path);
  for (const args of byScope({ short: [['-m', '1', vm]], full: [['--disk', 'all', config], [vm], ['-m', '1', vm]] })) {
    expect(convert(...args)).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(readFileSync(path).equals(made), args.join(' ')).toBe(true);
  }
  // Back from an OVA: its manifest is checked, and the machine keeps its hardware.
  const copy = join(folder, 'copy.ova');
  copyFileSync(path, copy);
  expect(convert('-o', 'name=out', copy)).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(readFileSync(path).equals(made)).toBe(true);
  expect(convert('--disk', '2', config)).toEqual({ status: 0, stdout: '', stderr: '' });
  expectDisks(folder, path, disks.slice(1, 2));
});

test('each target gets the same bytes, in two passes or by a temporary file', FULL, ({ folder }) => {
  const { config, disks } = machine(folder);
  const path = join(folder, 'file.ova');
  const args = ['convert', '-O', 'ova', '-o', `${UUID},name=vm`, config];
  expect(command(...args, path)).toMatchObject({ status: 0 });
  expectDisks(folder, path, disks);
  const piped = join(folder, 'piped');
  const pipe = (...more: string[]) =>
    run(process.execPath, [cli, ...args, '-', ...more], { stdio: ['ignore', openSync(piped, 'w'), 'pipe'] });
  for (const more of ['--two-pass', '--spool']) {
    expect(pipe(more)).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(piped).equals(readFileSync(path)), more).toBe(true);
  }
  expect(pipe()).toMatchObject({ status: 1, stderr: expect.stringContaining('--two-pass') });
});

test('the images of an archive that is not a machine are the disks of one only with --disk all', ({ folder }) => {
  const disks = [disk(1), disk(2)];
  for (const [at, content] of disks.entries()) {
    writeFileSync(join(folder, 'raw'), content);
    qemuImg('convert', '-f', 'raw', '-O', 'qcow2', join(folder, 'raw'), join(folder, `${at}.qcow2`));
  }
  execFileSync('tar', ['-cf', 'disks.tar', '0.qcow2', '1.qcow2'], { cwd: folder });
  const [tar, path] = [join(folder, 'disks.tar'), join(folder, 'out.ova')];
  const refused = command('convert', tar, path);
  expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining('--disk all') });
  expect(command('convert', '--disk', 'all', tar, path)).toEqual({ status: 0, stdout: '', stderr: '' });
  expectDisks(folder, path, disks);
});

test('the disks of several machines in an archive are not those of one', ({ folder }) => {
  const { vm } = machine(folder);
  execFileSync('cp', ['-r', vm, join(folder, 'other')]);
  execFileSync('tar', ['-cf', 'two.tar', 'vm', 'other'], { cwd: folder });
  const tar = join(folder, 'two.tar');
  for (const args of [[], ['--disk', 'all']]) {
    const refused = command('convert', ...args, tar, join(folder, 'out.ova'));
    const stderr = expect.stringContaining(
      "several virtual machines: 'vm/vm.vmx', 'other/vm.vmx'; state a disk of one",
    );
    expect(refused).toMatchObject({ status: 2, stderr });
  }
  const each = command('convert', '--for', 'proxmox', '--disk', 'all', tar, join(folder, 'out/'));
  expect(each).toMatchObject({ status: 0, stderr: expect.not.stringContaining('next') });
});

test('a disk of a machine is encrypted', ({ folder }) => {
  const { vm, config, disks } = machine(folder);
  copyFileSync(small.luks(), join(vm, 'log.qcow2'));
  const [path, right, wrong] = ['out.ova', 'right', 'wrong'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(right, PASSWORD);
  writeFileSync(wrong, 'no');
  for (const args of byScope({ short: [[]], full: [[], ['--password-file', wrong]] })) {
    const stderr = expect.stringMatching(/'log\.qcow2', disk 3 of 3: .* \(--password-file 'log\.qcow2'=FILE\)\n/);
    expect(command('convert', ...args, config, path)).toMatchObject({ status: 1, stderr });
  }
  for (const given of byScope({ short: [`log.qcow2=${right}`], full: [right, `log.qcow2=${right}`] })) {
    expect(command('convert', '--password-file', given, config, path)).toEqual({ status: 0, stdout: '', stderr: '' });
    expectDisks(folder, path, [...disks.slice(0, 2), readFileSync(small.raw())]);
  }
});

test('failures name the disk, and leave nothing', ({ folder }) => {
  const { vm, config } = machine(folder);
  const path = join(folder, 'out.ova');
  truncateSync(join(vm, 'log.qcow2'), 300_000);
  const cut = command('convert', config, path);
  expect(cut).toMatchObject({ status: 1, stderr: expect.stringContaining("'log.qcow2', disk 3 of 3: ") });
  const salvaged = command('convert', '--salvage', config, path);
  expect(salvaged).toMatchObject({ status: 3, stderr: expect.stringMatching(/lost: \d+ bytes at \d+ of disk 3: /) });
  rmSync(path);
  rmSync(join(vm, 'log.qcow2'));
  const missing = command('convert', config, path);
  expect(missing).toMatchObject({ status: 2, stderr: expect.stringContaining('log.qcow2 (missing; --with FILE)') });
  expect(readdirSync(folder).filter((name) => name.startsWith('out'))).toEqual([]);
});

test('an OVF has the files of the OVA, and replaces none', ({ folder }) => {
  const { config, disks } = machine(folder);
  const all = [[config, disks.length] as const, [small.zlib(), 1] as const];
  for (const [image, count] of all.slice(0, byScope({ short: 1, full: 2 }))) {
    const [archive, out] = [join(folder, 'vm.ova'), join(folder, `${count}`)];
    mkdirSync(out);
    const convert = (output: string) => command('convert', '-o', UUID, image, output);
    expect(convert(archive)).toEqual({ status: 0, stdout: '', stderr: '' });
    const descriptor = join(out, 'vm.ovf');
    expect(convert(descriptor)).toEqual({ status: 0, stdout: '', stderr: '' });
    const names = listed(archive);
    expect(names).toHaveLength(count + 2);
    expect(readdirSync(out).sort()).toEqual([...names].sort());
    for (const name of names) {
      const member = execFileSync('tar', ['-xOf', archive, name], { maxBuffer: 2 ** 30 });
      expect(readFileSync(join(out, name)).equals(member), name).toBe(true);
    }
    // The manifest is checked when Decant reads it back.
    expect(command('convert', '--disk', 'all', '-O', 'qcow2', descriptor, `${out}/back/`)).toMatchObject({ status: 0 });
    const again = convert(descriptor);
    expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining("vm.ovf' already exists") });
  }
});

test('an OVF that fails leaves nothing', ({ folder }) => {
  const { vm, config } = machine(folder);
  truncateSync(join(vm, 'log.qcow2'), 300_000);
  const out = join(folder, 'out');
  mkdirSync(out);
  expect(command('convert', config, join(out, 'vm.ovf'))).toMatchObject({ status: 1 });
  expect(readdirSync(out)).toEqual([]);
});

test('the API converts opened images of any kind to one machine', async ({ folder }) => {
  const streamed = join(folder, 'data.raw.gz');
  writeFileSync(streamed, gzipSync(disk(5)));
  const path = join(folder, 'out.ova');
  const system = await decant.open(disk(3), { inputFormat: 'raw', name: 'system.raw' });
  const data = await decant.open(streamed);
  let asked = 0;
  const password = () => {
    asked += 1;
    return PASSWORD;
  };
  const locked = await decant.open(small.luks(), { password });
  const options = { format: 'ova', disks: [data, locked] };
  const seen: Decant.Progress[] = [];
  const onProgress = (progress: Decant.Progress) => seen.push(progress);
  const result = await system.convert(path, { ...options, onProgress });
  const content = readFileSync(small.raw());
  expect(result).toMatchObject({ virtualSize: 2 * MIB + content.length, lost: [], engine: 'workers' });
  const total = 2 * MIB + content.length;
  expect(seen.at(-1)).toMatchObject({ phase: 'finalizing', guestDone: total, guestTotal: total });
  expect(new Set(seen.at(-1)!.cells)).toEqual(new Set([1]));
  expect(asked).toBe(1);
  expectDisks(folder, path, [disk(3), disk(5), content]);
  // The images stay usable.
  expect(Buffer.from(await (locked as Decant.DiskImage).read(0, 512)).equals(content.subarray(0, 512))).toBe(true);
  expect(asked).toBe(1);
  await expect(system.convert(path, { format: 'qcow2', disks: [data] })).rejects.toMatchObject({
    kind: 'usage',
    code: 'one-disk',
  });
  await expect(system.convert(path, { ...options, disks: [{} as never] })).rejects.toMatchObject({ kind: 'usage' });
  // A later disk is closed while the first one is read.
  const { target, reached } = holding();
  const converting = system.convert(target, options);
  const failed = expect(converting).rejects.toMatchObject({ kind: 'cancelled', message: 'The image was closed' });
  await reached;
  await data.close();
  await failed;
  await expect(system.convert(path, options)).rejects.toMatchObject({ kind: 'usage', message: 'The image was closed' });
  await system.close();
  await locked.close();
});

/** A target whose first write never ends. */
function holding() {
  let reach = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const write = () => {
    reach();
    return new Promise<never>(() => {});
  };
  return { target: { write, close: async () => {}, abort: async () => {} }, reached };
}

test('virt-v2v finds all disks', FULL, ({ folder }) => {
  const { config } = machine(folder);
  const path = join(folder, 'vm.ova');
  // (arguments, the bus that virt-v2v names)
  for (const [args, bus] of [
    [[], 'sata'],
    [['-o', 'controller=pvscsi'], 'scsi'],
    [['-o', 'controller=ide'], 'ide'],
  ] as const) {
    expect(command('convert', ...args, config, path)).toMatchObject({ status: 0 });
    const found = run('virt-v2v', ['-i', 'ova', path, '--print-source']);
    expect(found).toMatchObject({ status: 0, stderr: '' });
    const disks = found.stdout.match(/^\s+\d \[.*\]$/gm)?.map((line) => line.trim());
    expect(disks).toEqual([0, 1, 2].map((number) => `${number} [${bus}]`));
  }
});
