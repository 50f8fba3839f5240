// The contents of disks: of real tools, damaged ones, and hostile ones.

import { execFileSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { qemuImgLuks } from '../../e2e/support/qemu.js';
import { random } from '../../e2e/support/random.js';
import type { Contents } from './disk-contents.js';
import { contentsOf } from './index.js';

const MIB = 1 << 20;

// The tools are slow, above all for LUKS.
vi.setConfig({ testTimeout: 100_000 });

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'decant-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (command: string, args: string[], input = ''): void => {
  execFileSync(command, args, { input, stdio: ['pipe', 'ignore', 'pipe'], env: { ...process.env, LC_ALL: 'C' } });
};

/** A new disk of zeros. */
function blank(size: number): string {
  const path = join(mkdtempSync(join(folder, 'disk-')), 'disk');
  writeFileSync(path, '');
  truncateSync(path, size);
  return path;
}

/** The contents of the disk open as `fd`, with `changes` at its start, and the number of bytes read. */
async function insideOf(
  fd: number,
  size: number,
  changes = new Uint8Array(),
): Promise<{ contents: Contents; reads: number; bytes: number }> {
  let [reads, bytes] = [0, 0];
  const read = async (offset: number, length: number) => {
    reads += 1;
    bytes += length;
    const buffer = new Uint8Array(length);
    expect(readSync(fd, buffer, 0, length, offset)).toBe(length);
    buffer.set(changes.subarray(offset, offset + length));
    return buffer;
  };
  const contents = await contentsOf(read, size);
  return { contents, reads, bytes };
}

/** Calls `use` with the open file at `path`. */
async function withOpen<T>(path: string, use: (fd: number, size: number) => Promise<T>): Promise<T> {
  const fd = openSync(path, 'r');
  try {
    return await use(fd, statSync(path).size);
  } finally {
    closeSync(fd);
  }
}

const inside = (path: string) => withOpen(path, (fd, size) => insideOf(fd, size));

/** Copies the file `from` to `offset` in the file `to`. */
function put(from: string, to: string, offset: number): void {
  run('dd', [`if=${from}`, `of=${to}`, 'bs=1M', `seek=${offset / MIB}`, 'conv=notrunc,sparse']);
}

interface Made {
  name: string;
  size: number;
  make: (path: string) => void;
  /** The size of the file system, if it differs from that of the disk. */
  found: { name: string; label?: string; size?: number | undefined };
}

const ext = (version: string): Made => ({
  name: version,
  size: 16 * MIB,
  make: (path) => run(`mkfs.${version}`, ['-q', '-F', '-L', 'root', path]),
  found: { name: version, label: 'root' },
});

const FILE_SYSTEMS: Made[] = [
  ext('ext2'),
  ext('ext3'),
  ext('ext4'),
  {
    name: 'ext4, 64bit, without a label',
    size: 16 * MIB,
    make: (path) => run('mkfs.ext4', ['-q', '-F', '-O', '64bit', path]),
    found: { name: 'ext4' },
  },
  {
    name: 'XFS',
    size: 320 * MIB,
    make: (path) => run('mkfs.xfs', ['-q', '-f', '-L', 'data', path]),
    found: { name: 'XFS', label: 'data' },
  },
  {
    name: 'Btrfs',
    size: 128 * MIB,
    make: (path) => run('mkfs.btrfs', ['-q', '-f', '-L', 'with spaces', path]),
    found: { name: 'Btrfs', label: 'with spaces' },
  },
  {
    name: 'NTFS',
    size: 16 * MIB,
    make: (path) => run('mkfs.ntfs', ['-Q', '-F', '-q', '-L', 'Fenster ü', path]),
    // The last sector is a copy of the first.
    found: { name: 'NTFS', label: 'Fenster ü', size: undefined },
  },
  ...(['12', '16', '32'] as const).map((bits) => ({
    name: `FAT${bits}`,
    size: { 12: 4, 16: 32, 32: 64 }[bits] * MIB,
    make: (path: string) => run('mkfs.fat', ['-F', bits, '-n', 'STICK', path]),
    found: { name: `FAT${bits}`, label: 'STICK' },
  })),
  {
    name: 'exFAT',
    size: 16 * MIB,
    make: (path) => run('mkfs.exfat', ['-L', 'Karte', path]),
    found: { name: 'exFAT', label: 'Karte' },
  },
  {
    name: 'swap',
    size: 16 * MIB,
    make: (path) => run('mkswap', ['-L', 'paging', path]),
    found: { name: 'swap', label: 'paging' },
  },
  {
    name: 'LUKS',
    size: 16 * MIB,
    make: (path) => {
      const secret = `${path}.secret`;
      writeFileSync(secret, 'secret');
      const object = `secret,id=key,file=${secret}`;
      qemuImgLuks('create', '-q', '-f', 'luks', '--object', object, '-o', 'key-secret=key,iter-time=10', path, '8M');
    },
    found: { name: 'LUKS', size: undefined },
  },
];

const definedOf = (values: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

const made = new Map<string, string>();

/** A disk with only this file system. */
function alone({ name, size, make }: Made): string {
  const path = made.get(name) ?? blank(size);
  if (!made.has(name)) make(path);
  made.set(name, path);
  return path;
}

for (const row of FILE_SYSTEMS) {
  const { name, found } = row;
  test(`${name} on a whole disk, and in a partition`, async () => {
    const whole = alone(row);
    const size = statSync(whole).size;
    const fileSystem = { ...('size' in found ? {} : { size }), ...found };
    const { contents } = await inside(whole);
    expect(contents).toEqual({
      partitions: [{ offset: 0, length: size, fileSystem: expect.objectContaining(definedOf(fileSystem)) }],
    });
    expect(contents.partitions[0]!.fileSystem!.label).toBe(found.label);

    const disk = blank(size + 4 * MIB);
    run('sfdisk', ['-q', disk], `label: gpt\nstart=2MiB, size=${size / MIB}MiB, name="one"\n`);
    put(whole, disk, 2 * MIB);
    const part = (await inside(disk)).contents.partitions[0];
    expect(part).toMatchObject({ offset: 2 * MIB, name: 'one', fileSystem: definedOf(fileSystem) });
  });
}

/** Built by hand if no tool in Debian creates them without a device. */
const WRITTEN: [name: string, writes: [offset: number, bytes: string | number[]][], found: object][] = [
  ['BitLocker', [[3, '-FVE-FS-']], { name: 'BitLocker' }],
  [
    'APFS',
    [
      [32, 'NXSB'],
      [36, [0, 0x10, 0, 0]],
      [40, [0, 1, 0, 0, 0, 0, 0, 0]],
    ],
    { name: 'APFS', size: MIB },
  ],
  [
    'HFS+',
    [
      [1024, 'H+'],
      [1064, [0, 0, 0x10, 0]],
      [1068, [0, 0, 1, 0]],
    ],
    { name: 'HFS+', size: MIB },
  ],
  [
    'LVM',
    [
      [512, 'LABELONE'],
      [512 + 20, [32, 0, 0, 0]],
      [512 + 24, 'LVM2 001'],
      // The size of the volume, a data area, the end of that list, and a metadata area.
      [512 + 64, [0, 0, 0x10, 0, 0, 0, 0, 0]],
      [512 + 72, [0, 0, 0x10, 0, 0, 0, 0, 0]],
      [512 + 104, [0, 0x10, 0, 0, 0, 0, 0, 0]],
      [4096 + 4, ' LVM2 x[5A%r0N*>'],
      [4096 + 40, [0, 2, 0, 0, 0, 0, 0, 0]],
      [4096 + 512, 'vg-main {\nid = "x"'],
    ],
    { name: 'LVM', label: 'vg-main', size: MIB },
  ],
  [
    'LUKS2',
    [
      [0, 'LUKS\xba\xbe\0\x02'],
      [24, 'vault'],
    ],
    { name: 'LUKS', label: 'vault' },
  ],
];

function write(path: string, offset: number, bytes: string | number[]): void {
  const fd = openSync(path, 'r+');
  writeSync(
    fd,
    typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : Uint8Array.from(bytes),
    0,
    bytes.length,
    offset,
  );
  closeSync(fd);
}

for (const [name, writes, found] of WRITTEN) {
  test(`${name}, by its specification`, async () => {
    const disk = blank(MIB);
    for (const [offset, bytes] of writes) write(disk, offset, bytes);
    expect((await inside(disk)).contents).toEqual({ partitions: [{ offset: 0, length: MIB, fileSystem: found }] });
  });
}

const GPT = `label: gpt
start=1MiB, size=1MiB, type=21686148-6449-6E6F-744E-656564454649
start=2MiB, size=4MiB, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B, name="EFI"
start=6MiB, size=8MiB, type=linux, name="Würzel"
`;

const GPT_PARTS = [
  { offset: MIB, length: MIB, type: 'BIOS boot' },
  { offset: 2 * MIB, length: 4 * MIB, type: 'EFI system', name: 'EFI' },
  { offset: 6 * MIB, length: 8 * MIB, type: 'Linux', name: 'Würzel' },
];

test('a GPT, and its backup if the first is damaged', async () => {
  const disk = blank(16 * MIB);
  run('sfdisk', ['-q', disk], GPT);
  const firmware = ['efi', 'bios'];
  const intact = { table: { kind: 'GPT', damaged: false }, partitions: GPT_PARTS, firmware };
  expect((await inside(disk)).contents).toEqual(intact);
  for (const damage of [512, 512 + 40, 1024 + 32]) {
    const copy = blank(0);
    copyFileSync(disk, copy);
    write(copy, damage, [0x55]);
    expect((await inside(copy)).contents).toEqual({ ...intact, table: { kind: 'GPT', damaged: true } });
  }
});

// (what, partitions for sfdisk, boot code, firmware)
for (const [what, table, code, firmware] of [
  ['a GPT with an EFI system partition', 'label: gpt\ntype=C12A7328-F81F-11D2-BA4B-00A0C93EC93B', '', ['efi']],
  ['a GPT without', 'label: gpt\ntype=linux', 'code', undefined],
  ['an MBR with an EFI system partition', 'label: dos\ntype=ef', '', ['efi']],
  ['an MBR with an active partition', 'label: dos\ntype=7, bootable', 'code', ['bios']],
  ['an active partition without boot code', 'label: dos\ntype=7, bootable', '', undefined],
  ['boot code without an active partition', 'label: dos\ntype=83', 'code', undefined],
  ['GRUB without an active partition', 'label: dos\ntype=83', 'GRUB ', ['bios']],
] as const) {
  test(`the firmware for ${what}`, async () => {
    const disk = blank(16 * MIB);
    run('sfdisk', ['-q', disk], `${table}\n`);
    write(disk, 100, code);
    expect((await inside(disk)).contents.firmware).toEqual(firmware);
  });
}

test('a GPT of 4,096-byte sectors', async () => {
  const disk = blank(16 * MIB);
  // A new table, and a partition of 2 MiB from sector 512.
  run('fdisk', ['-b', '4096', disk], 'g\nn\n1\n512\n+2M\nw\n');
  const { contents } = await inside(disk);
  expect(contents).toEqual({
    table: { kind: 'GPT', damaged: false },
    partitions: [{ offset: 2 * MIB, length: 2 * MIB, type: 'Linux' }],
  });
});

test('a protective MBR without its GPT', async () => {
  const disk = blank(16 * MIB);
  run('sfdisk', ['-q', disk], GPT);
  write(disk, 512, [0]);
  write(disk, 16 * MIB - 512, [0]);
  expect((await inside(disk)).contents).toEqual({ table: { kind: 'GPT', damaged: true }, partitions: [] });
});

const MBR = `label: dos
start=1MiB, size=1MiB, type=c, bootable
start=2MiB, size=12MiB, type=5
start=3MiB, size=2MiB, type=83
start=6MiB, size=3MiB, type=82
start=10MiB, size=3MiB, type=7
`;

test('an MBR with an extended partition', async () => {
  const disk = blank(16 * MIB);
  run('sfdisk', ['-q', disk], MBR);
  const { contents } = await inside(disk);
  expect(contents.table).toEqual({ kind: 'MBR', damaged: false });
  expect(contents.partitions.map(({ offset, length, type }) => [offset / MIB, length / MIB, type])).toEqual([
    [1, 1, 'FAT32'],
    [3, 2, 'Linux'],
    [6, 3, 'Linux swap'],
    [10, 3, 'NTFS or exFAT'],
  ]);
});

// Links count from the start of the extended partition, in sectors.
for (const [what, link] of [
  ['the first', 0],
  ['itself', (5 - 2) * (MIB / 512)],
] as const) {
  test(`the second logical partition leads to ${what}: the circle ends`, async () => {
    const disk = blank(16 * MIB);
    run('sfdisk', ['-q', disk], MBR);
    const second = 5 * MIB;
    write(disk, second + 446 + 16 + 4, [5]);
    write(disk, second + 446 + 16 + 8, [link & 0xff, link >> 8, 0, 0, 1, 0, 0, 0]);
    const { contents, reads } = await inside(disk);
    expect(contents.table).toEqual({ kind: 'MBR', damaged: true });
    expect(reads).toBeLessThan(60);
  });
}

test('blank and empty disks have no contents', async () => {
  for (const size of [0, 1, 511, 512, MIB]) {
    expect((await inside(blank(size))).contents).toEqual({ partitions: [] });
  }
});

describe('with any bytes on a disk, little is read and nothing fails', () => {
  const withTable = (table: string) => (): string => {
    const path = blank(16 * MIB);
    run('sfdisk', ['-q', path], table);
    return path;
  };
  const disks: [string, () => string][] = [
    ...FILE_SYSTEMS.map((row): [string, () => string] => [row.name, () => alone(row)]),
    ['a GPT', withTable(GPT)],
    ['an MBR', withTable(MBR)],
  ];

  /** `heads` with 1 to 24 changes, mostly of numbers in the first sectors. */
  function changed(heads: Uint8Array<ArrayBuffer>, seed: number): Uint8Array<ArrayBuffer> {
    const next = random(seed);
    const below = (end: number) => Math.floor(next() * end);
    const bytes = heads.slice();
    for (let places = 1 + below(24); places > 0; places -= 1) {
      bytes[below(below(4) === 0 ? bytes.length : 2048)] = below(3) === 0 ? 0xff : below(256);
    }
    return bytes;
  }

  const SEEDS = 30;
  for (const [name, make] of disks) {
    test(`${name}, seeds 0 to ${SEEDS - 1}`, () =>
      withOpen(make(), async (fd, size) => {
        const heads = new Uint8Array(128 * 1024);
        readSync(fd, heads, 0, heads.length, 0);
        for (let seed = 0; seed < SEEDS; seed += 1) {
          const { reads, bytes } = await insideOf(fd, size, changed(heads, seed));
          expect(reads, `seed ${seed}`).toBeLessThan(300);
          expect(bytes, `seed ${seed}`).toBeLessThan(8 * MIB);
        }
      }));
  }
});
