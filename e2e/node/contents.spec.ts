// What is found inside disks: those that real tools make, damaged ones, and hostile ones.

import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { contentsOf } from '../../element/contents/contents.js';
import type { Contents } from '../../element/contents/types.js';
import { qemuImgLuks } from '../support/images.js';
import { expect, test } from '../support/node.js';

const MIB = 1 << 20;

const run = (command: string, args: string[], input = ''): void => {
  execFileSync(command, args, { input, stdio: ['pipe', 'ignore', 'pipe'], env: { ...process.env, LC_ALL: 'C' } });
};

/** A new disk of zeros. */
function blank(path: string, size: number): string {
  writeFileSync(path, '');
  truncateSync(path, size);
  return path;
}

/** What is inside the file at `path`, and how much of it was read. */
async function inside(path: string): Promise<{ contents: Contents; reads: number; bytes: number }> {
  const fd = openSync(path, 'r');
  let [reads, bytes] = [0, 0];
  try {
    const read = async (offset: number, length: number) => {
      reads += 1;
      bytes += length;
      const buffer = new Uint8Array(length);
      expect(readSync(fd, buffer, 0, length, offset)).toBe(length);
      return buffer;
    };
    const contents = await contentsOf(read, statSync(path).size);
    return { contents, reads, bytes };
  } finally {
    closeSync(fd);
  }
}

/** Copies the file at `from` to `offset` of the one at `to`. */
function put(from: string, to: string, offset: number): void {
  run('dd', [`if=${from}`, `of=${to}`, 'bs=1M', `seek=${offset / MIB}`, 'conv=notrunc,sparse']);
}

interface Made {
  name: string;
  size: number;
  make: (path: string) => void;
  /** `size` of the file system, if it is not that of the disk. */
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
    // The last sector is a copy of the first one.
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

for (const { name, size, make, found } of FILE_SYSTEMS) {
  test(`${name} on a whole disk, and in a partition`, async ({ folder }) => {
    const alone = blank(join(folder, 'alone'), size);
    make(alone);
    const fileSystem = { ...('size' in found ? {} : { size }), ...found };
    const length = statSync(alone).size;
    const { contents } = await inside(alone);
    expect(contents).toEqual({
      parts: [{ offset: 0, size: length, fileSystem: expect.objectContaining(definedOf(fileSystem)) }],
    });
    expect(contents.parts[0]!.fileSystem!.label).toBe(found.label);

    const disk = blank(join(folder, 'disk'), length + 4 * MIB);
    run('sfdisk', ['-q', disk], `label: gpt\nstart=2MiB, size=${length / MIB}MiB, name="one"\n`);
    put(alone, disk, 2 * MIB);
    const part = (await inside(disk)).contents.parts[0];
    expect(part).toMatchObject({ offset: 2 * MIB, name: 'one', fileSystem: definedOf(fileSystem) });
  });
}

const definedOf = (values: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

/** Made by hand where no tool of Debian's makes them without a device. */
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
  test(`${name}, by its specification`, async ({ folder }) => {
    const disk = blank(join(folder, 'disk'), MIB);
    for (const [offset, bytes] of writes) write(disk, offset, bytes);
    expect((await inside(disk)).contents).toEqual({ parts: [{ offset: 0, size: MIB, fileSystem: found }] });
  });
}

const GPT = `label: gpt
start=1MiB, size=1MiB, type=21686148-6449-6E6F-744E-656564454649
start=2MiB, size=4MiB, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B, name="EFI"
start=6MiB, size=8MiB, type=linux, name="Würzel"
`;

const GPT_PARTS = [
  { offset: MIB, size: MIB, type: 'BIOS boot' },
  { offset: 2 * MIB, size: 4 * MIB, type: 'EFI system', name: 'EFI' },
  { offset: 6 * MIB, size: 8 * MIB, type: 'Linux', name: 'Würzel' },
];

test('a GPT, and its copy where the first is damaged', async ({ folder }) => {
  const disk = blank(join(folder, 'disk'), 16 * MIB);
  run('sfdisk', ['-q', disk], GPT);
  expect((await inside(disk)).contents).toEqual({ table: { kind: 'GPT', isDamaged: false }, parts: GPT_PARTS });
  for (const damage of [512, 512 + 40, 1024 + 32]) {
    const copy = join(folder, `damaged-${damage}`);
    run('cp', [disk, copy]);
    write(copy, damage, [0x55]);
    expect((await inside(copy)).contents).toEqual({ table: { kind: 'GPT', isDamaged: true }, parts: GPT_PARTS });
  }
});

test('a GPT of 4,096-byte sectors', async ({ folder }) => {
  const disk = blank(join(folder, 'disk'), 16 * MIB);
  // A new table, and a partition of 2 MiB from the sector 512 on.
  run('fdisk', ['-b', '4096', disk], 'g\nn\n1\n512\n+2M\nw\n');
  const { contents } = await inside(disk);
  expect(contents).toEqual({
    table: { kind: 'GPT', isDamaged: false },
    parts: [{ offset: 2 * MIB, size: 2 * MIB, type: 'Linux' }],
  });
});

test('a GPT of which nothing is left but what protects it', async ({ folder }) => {
  const disk = blank(join(folder, 'disk'), 16 * MIB);
  run('sfdisk', ['-q', disk], GPT);
  write(disk, 512, [0]);
  write(disk, 16 * MIB - 512, [0]);
  expect((await inside(disk)).contents).toEqual({ table: { kind: 'GPT', isDamaged: true }, parts: [] });
});

const MBR = `label: dos
start=1MiB, size=1MiB, type=c, bootable
start=2MiB, size=12MiB, type=5
start=3MiB, size=2MiB, type=83
start=6MiB, size=3MiB, type=82
start=10MiB, size=3MiB, type=7
`;

test('an MBR with an extended partition', async ({ folder }) => {
  const disk = blank(join(folder, 'disk'), 16 * MIB);
  run('sfdisk', ['-q', disk], MBR);
  const { contents } = await inside(disk);
  expect(contents.table).toEqual({ kind: 'MBR', isDamaged: false });
  expect(contents.parts.map(({ offset, size, type }) => [offset / MIB, size / MIB, type])).toEqual([
    [1, 1, 'FAT32'],
    [3, 2, 'Linux'],
    [6, 3, 'Linux swap'],
    [10, 3, 'NTFS or exFAT'],
  ]);
});

test('an extended partition that leads in a circle ends', async ({ folder }) => {
  const disk = blank(join(folder, 'disk'), 16 * MIB);
  run('sfdisk', ['-q', disk], MBR);
  // The link of the second logical partition leads to the first.
  const second = 5 * MIB;
  write(disk, second + 446 + 16 + 4, [5]);
  write(disk, second + 446 + 16 + 8, [0, 0, 0, 0, 1, 0, 0, 0]);
  const { contents, reads } = await inside(disk);
  expect(contents.table).toEqual({ kind: 'MBR', isDamaged: true });
  expect(reads).toBeLessThan(60);
});

test('a blank disk has nothing inside, nor has an empty one', async ({ folder }) => {
  for (const size of [0, 1, 511, 512, MIB]) {
    expect((await inside(blank(join(folder, `blank-${size}`), size))).contents).toEqual({ parts: [] });
  }
});

/** Numbers that follow from a seed. */
function* random(seed: number): Generator<number, never> {
  let state = seed + 1;
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state;
  }
}

test('whatever stands on a disk, little is read and nothing fails', async ({ folder }) => {
  test.setTimeout(300_000);
  const disks = FILE_SYSTEMS.map(({ size, make }, at) => {
    const path = blank(join(folder, `disk-${at}`), size);
    make(path);
    return path;
  });
  for (const [label, table] of Object.entries({ gpt: GPT, mbr: MBR })) {
    const path = blank(join(folder, label), 16 * MIB);
    run('sfdisk', ['-q', path], table);
    disks.push(path);
  }
  for (const [at, disk] of disks.entries()) {
    const fd = openSync(disk, 'r+');
    const heads = new Uint8Array(128 * 1024);
    readSync(fd, heads, 0, heads.length, 0);
    const numbers = random(at);
    for (let seed = 0; seed < 30; seed += 1) {
      const changed = heads.slice();
      const places = 1 + (numbers.next().value % 24);
      for (let place = 0; place < places; place += 1) {
        // Mostly among the numbers of the first sectors.
        const range = numbers.next().value % 4 === 0 ? changed.length : 2048;
        changed[numbers.next().value % range] = numbers.next().value % 3 === 0 ? 0xff : numbers.next().value & 0xff;
      }
      writeSync(fd, changed, 0, changed.length, 0);
      const { reads, bytes } = await inside(disk);
      expect(reads).toBeLessThan(300);
      expect(bytes).toBeLessThan(8 * MIB);
    }
    closeSync(fd);
  }
});
