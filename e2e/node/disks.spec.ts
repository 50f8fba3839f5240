// An archive with several disks: the command, and the API. crate/tests/disks.rs has all permutations.

import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { decant as command } from '../support/command.js';
import { qemuImg, qemuImgLuks } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { ovaOfSeveral } from '../support/ova.js';
import { serveFile } from '../support/remote.js';
import { byScope } from '../support/scope.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;
test.afterAll(() => decant.dispose());

const MIB = 1 << 20;

/** The machine, and the contents of its disks in the order of the descriptor. */
interface Machine {
  ova: string;
  disks: [Buffer, Buffer];
  sizes: [number, number];
}

function machine(folder: string): Machine {
  const make = (name: string, byte: number, size: number, ...options: string[]) => {
    const raw = Buffer.alloc(size).fill(byte, 0, 100_000);
    writeFileSync(join(folder, `${name}.raw`), raw);
    const image = join(folder, name);
    qemuImg('convert', '-f', 'raw', ...options, join(folder, `${name}.raw`), image);
    return { image, raw, size: statSync(image).size };
  };
  const data = make('data.qcow2', 7, 2 * MIB, '-O', 'qcow2');
  const system = make('system.vmdk', 9, MIB, '-O', 'vmdk', '-o', 'subformat=streamOptimized');
  const ova = ovaOfSeveral(folder, 'vm.ova', [data.image, system.image], [2 * MIB]);
  return { ova, disks: [system.raw, data.raw], sizes: [system.size, data.size] };
}

const isDisk = (path: string, disk: Buffer) => expect(readFileSync(path).equals(disk), path).toBe(true);

test('the command lists the disks, and takes one', ({ folder }) => {
  const { ova, disks, sizes } = machine(folder);
  const listed = command('info', ova);
  expect(listed).toMatchObject({ status: 0, stderr: '' });
  expect(listed.stdout).toMatch(
    /--disk 1: system\.vmdk \(.+, vmdk\)\n +--disk 2: data\.qcow2 \(.+, qcow2, a disk of 2 MiB\)\n/,
  );
  expect(JSON.parse(command('info', '--output=json', ova).stdout)).toMatchObject({
    filename: ova,
    decant: {
      machine: 'web & db',
      disks: [
        { name: 'system.vmdk', size: sizes[0], format: 'vmdk' },
        { name: 'data.qcow2', size: sizes[1], format: 'qcow2', virtualSize: 2 * MIB },
      ],
    },
  });
  expect(command('info', '--disk', '2', ova).stdout).toContain(
    "machine: web & db\nfile format: qcow2\npacked in: tar ('data.qcow2')\n",
  );
  expect(command('map', '--disk=data.qcow2', '--output=json', ova)).toMatchObject({ status: 0, stderr: '' });
  const output = join(folder, 'out.raw');
  const chosen = [['2', disks[1]] as const, ['system.vmdk', disks[0]] as const, ['1', disks[0]] as const];
  for (const [disk, expected] of chosen.slice(0, byScope({ short: 2, full: 3 }))) {
    expect(command('convert', '--disk', disk, ova, output), disk).toEqual({ status: 0, stdout: '', stderr: '' });
    isDisk(output, expected);
    rmSync(output);
  }
  // (arguments, the start of the message)
  const all: [string[], string][] = [
    [
      ['convert', ova, output],
      "The tar archive holds 2 disk images, 'system.vmdk', 'data.qcow2'; state which one (--disk N)",
    ],
    [['convert', '--disk', '3', ova, output], 'The archive holds no disk 3'],
    [['map', ova], 'The tar archive holds 2 disk images'],
    [['info', '--disk', 'x', ova], "The archive holds no disk 'x'"],
  ];
  for (const [args, message] of all.slice(0, byScope({ short: 2, full: 4 }))) {
    const refused = command(...args);
    expect(refused, message).toMatchObject({ status: 2, stdout: '' });
    const lines = refused.stderr.split('\n');
    expect(lines[0]).toContain(message);
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(/^decant: --disk 1: system\.vmdk \(/),
      expect.stringMatching(/^decant: --disk 2: data\.qcow2 \(/),
      expect.stringMatching(/^decant: --disk all: /),
      '',
    ]);
  }
  expect(existsSync(output)).toBe(false);
  const one = command('convert', '--disk', 'all', ova, output);
  expect(one).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("a folder as the output, such as 'out.raw/'"),
  });
});

test('the command converts all disks into a folder', ({ folder }) => {
  const { ova, disks } = machine(folder);
  const made = join(folder, 'made');
  const names = ['vm-disk1.raw', 'vm-disk2.raw'];
  const all = command('convert', ova, `${made}/`);
  expect(all).toMatchObject({ status: 0, stdout: '' });
  expect(all.stderr.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/made '.*vm-disk1\.raw' from 'system\.vmdk', disk 1 of 2$/),
    expect.stringMatching(/made '.*vm-disk2\.raw' from 'data\.qcow2', disk 2 of 2$/),
  ]);
  expect(readdirSync(made).toSorted()).toEqual(names);
  for (const [at, name] of names.entries()) isDisk(join(made, name), disks[at]!);
  // An existing folder, and another format.
  expect(command('convert', '-q', '-O', 'qcow2', ova, made)).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(readdirSync(made).toSorted()).toEqual(['vm-disk1.qcow2', names[0], 'vm-disk2.qcow2', names[1]]);
  qemuImg('compare', '-f', 'raw', '-F', 'qcow2', join(made, names[1]!), join(made, 'vm-disk2.qcow2'));
});

test('each disk has its own password', ({ folder }) => {
  for (const name of ['a', 'b']) {
    writeFileSync(join(folder, name), `of ${name}`);
    const secret = ['--object', `secret,id=s,data=of ${name}`];
    const options = 'encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=10';
    qemuImgLuks('create', '-q', ...secret, '-f', 'qcow2', '-o', options, join(folder, `${name}.qcow2`), `${MIB}`);
  }
  qemuImg('create', '-q', '-f', 'qcow2', join(folder, 'c.qcow2'), `${MIB}`);
  const disks = ['a', 'b', 'c'].map((name) => join(folder, `${name}.qcow2`));
  const ova = ovaOfSeveral(folder, 'vm.ova', disks);
  const made = join(folder, 'made');
  const password = (name: string) => ['--password-file', name.replace(/(?=.$)/, `${folder}/`)];
  const whole = 'vm-disk1.raw vm-disk2.raw vm-disk3.raw';
  // The last disk is converted first. (passwords, the start of the error or '', complete files)
  const all: [string[], string, string][] = [
    [['a', 'b.qcow2=b'], '', whole],
    [['a'], "'b.qcow2', disk 2 of 3: The password is wrong (--password-file 'b.qcow2'=FILE)", 'vm-disk1.raw'],
    [['a.qcow2=a', 'b.qcow2=b'], '', whole],
    [['a.qcow2=a'], "'b.qcow2', disk 2 of 3: '", 'vm-disk1.raw'],
  ];
  for (const [names, message, files] of all.slice(0, byScope({ short: 2, full: 4 }))) {
    const { status, stderr } = command('convert', ...names.flatMap(password), ova, `${made}/`);
    expect(status, stderr).toBe(message === '' ? 0 : 1);
    if (message === '') expect(stderr).not.toContain('note');
    else expect(stderr).toContain(`decant: ${message}`);
    expect(readdirSync(made).toSorted().join(' ')).toBe(files);
    rmSync(made, { recursive: true });
  }
  const one = command('convert', '--disk', 'b.qcow2', ...['a.qcow2=a', 'b.qcow2=b'].flatMap(password), ova, made);
  expect(one).toEqual({ status: 0, stdout: '', stderr: '' });
  qemuImg('create', '-q', '-f', 'qcow2', join(folder, 'd.qcow2'), `${MIB}`);
  const plain = ovaOfSeveral(folder, 'plain.ova', [disks[2]!, join(folder, 'd.qcow2')]);
  rmSync(made);
  const { stderr } = command('convert', ...password('a'), plain, `${made}/`);
  expect(stderr.match(/note: no layer is encrypted/g), stderr).toHaveLength(1);
});

test('a failure stops the command, and complete files stay', ({ folder }) => {
  const { ova, disks } = machine(folder);
  const damaged = readFileSync(ova);
  // The first L1 entry of the qcow2, the second disk.
  const start = damaged.indexOf('QFI\xfb', 0, 'latin1');
  damaged.fill(
    0xff,
    start + Number(damaged.readBigUInt64BE(start + 40)),
    start + Number(damaged.readBigUInt64BE(start + 40)) + 8,
  );
  writeFileSync(ova, damaged);
  for (const [quiet, made] of [
    [[], join(folder, 'loud')],
    [['-q'], join(folder, 'quiet')],
  ] as const) {
    const { status, stderr } = command('convert', ...quiet, ova, `${made}/`);
    expect(status).toBe(1);
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toEqual([expect.stringContaining('disk 1 of 2'), expect.stringContaining('data.qcow2')]);
    expect(readdirSync(made)).toEqual(['vm-disk1.raw']);
    isDisk(join(made, 'vm-disk1.raw'), disks[0]);
  }
});

test('no disk replaces another one, or a file that the machine needs', ({ folder }) => {
  const { ova, disks } = machine(folder);
  // (the name of a link, its target, the message, complete files)
  for (const [name, target, message, whole] of [
    ['vm-disk2.raw', 'vm-disk1.raw', "vm-disk1.raw', which has another disk; choose another folder", true],
    ['vm-disk1.raw', ova, "vm-disk1.raw' is the image itself; choose another output", false],
  ] as const) {
    const made = join(folder, name.replace('.raw', ''));
    mkdirSync(made);
    symlinkSync(target, join(made, name));
    const before = readFileSync(ova);
    const { status, stderr } = command('convert', ova, made);
    expect(status).toBe(2);
    expect(stderr).toContain(message);
    expect(readFileSync(ova).equals(before)).toBe(true);
    if (whole) isDisk(join(made, 'vm-disk1.raw'), disks[0]);
  }
});

test('an archive with one disk is as ever, and may be put into a folder', FULL, ({ folder }) => {
  const { disks } = machine(folder);
  const ova = ovaOfSeveral(folder, 'one.ova', [join(folder, 'data.qcow2')]);
  const output = join(folder, 'out.raw');
  expect(command('convert', ova, output)).toEqual({ status: 0, stdout: '', stderr: '' });
  isDisk(output, disks[1]);
  expect(command('convert', ova, folder)).toMatchObject({ status: 2, stderr: expect.stringContaining('folder') });
  expect(command('convert', '-q', '--disk', 'all', ova, folder)).toEqual({ status: 0, stdout: '', stderr: '' });
  isDisk(join(folder, 'one-disk1.raw'), disks[1]);
  const plain = command('convert', '--disk', 'all', join(folder, 'data.qcow2'), folder);
  expect(plain).toMatchObject({ status: 2, stderr: expect.stringContaining('only in a virtual machine') });
});

test('the API lists the disks, and opens one', async ({ folder }) => {
  const { ova, disks, sizes } = machine(folder);
  const members = [
    { name: 'system.vmdk', size: sizes[0], format: 'vmdk' },
    { name: 'data.qcow2', size: sizes[1], format: 'qcow2', virtualSize: 2 * MIB },
  ];
  const server = await serveFile(readFileSync(ova));
  for (const input of [ova, server.url]) {
    await expect(decant.open(input)).rejects.toMatchObject({
      kind: 'usage',
      code: 'several-images',
      fields: { count: 2, disks: members },
    });
    await expect(decant.open(input, { disk: 'x' })).rejects.toMatchObject({
      kind: 'usage',
      code: 'no-such-disk',
      fields: { disks: members },
    });
    const image = await decant.open(input, { disk: 2 });
    expect(image.disks).toEqual(members);
    const { virtualSize } = image.info;
    expect(Buffer.from(await (image as Decant.DiskImage).read(0, virtualSize!)).equals(disks[1])).toBe(true);
    await image.close();
  }
  await server.close();
  // In an archive that is read in order.
  execFileSync('tar', ['-czf', 'a.tar.gz', 'data.qcow2.raw'], { cwd: folder });
  const streamed = await decant.open(join(folder, 'a.tar.gz'));
  expect(streamed.disks).toEqual([{ name: 'data.qcow2.raw', size: 2 * MIB }]);
  await streamed.close();
  const plain = await decant.open(join(folder, 'data.qcow2'));
  expect(plain.disks).toEqual([]);
  await plain.close();
});
