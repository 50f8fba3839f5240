// Other programs read Decant's outputs: dissect.hypervisor, libvhdi and libvmdk find the disk, and OpenStack's format_inspector
// accepts it as safe.

import { copyFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as decant from '../../dist/node.js';
import { type Answer, expect, type Question, type Reader, test } from '../support/foreign-readers.js';
import { qemuImg, small, sparse } from '../support/images.js';
import { random } from '../support/random.js';
import { byScope } from '../support/scope.js';

const SECTOR = 512;
const MIB = 2 ** 20;

/** The largest disk, in bytes, to read from an output with the smallest clusters, which are slow in dissect. */
const MOST_IN_SMALL = byScope({ short: 8 * MIB, full: Number.POSITIVE_INFINITY });

interface Output {
  format: Question['format'];
  formatOptions: Record<string, string>;
  /** The largest disk, in bytes, that is read from it. */
  most?: number;
}

const OUTPUTS: Record<string, Output> = {
  'plain qcow2': { format: 'qcow2', formatOptions: {} },
  'compressed qcow2': { format: 'qcow2', formatOptions: { compress: 'on' } },
  'plain qcow2, smallest clusters': { format: 'qcow2', formatOptions: { cluster_size: '512' }, most: MOST_IN_SMALL },
  'compressed qcow2, smallest clusters': {
    format: 'qcow2',
    formatOptions: { compress: 'on', cluster_size: '512' },
    most: MOST_IN_SMALL,
  },
  'compressed qcow2, largest clusters': { format: 'qcow2', formatOptions: { compress: 'on', cluster_size: '2M' } },
  'qcow2 compressed by zstd': { format: 'qcow2', formatOptions: { compress: 'on', compression_type: 'zstd' } },
  'streamOptimized VMDK': { format: 'vmdk', formatOptions: {} },
  'dynamic VHDX': { format: 'vhdx', formatOptions: {} },
  'fixed VHDX': { format: 'vhdx', formatOptions: { subformat: 'fixed' } },
  'dynamic VHDX, larger blocks': { format: 'vhdx', formatOptions: { block_size: '8M' } },
  'dynamic VDI': { format: 'vdi', formatOptions: {} },
  'fixed VDI': { format: 'vdi', formatOptions: { static: 'on' } },
  'dynamic VHD': { format: 'vpc', formatOptions: { subformat: 'dynamic' } },
};

/** An image, and the disk that it has. */
interface Disk {
  image: string;
  raw: string;
}

/** Makes a raw disk in `folder`. */
const made = (folder: string, content: Uint8Array, size = content.length): Disk => {
  const raw = join(folder, 'disk.raw');
  writeFileSync(raw, content);
  truncateSync(raw, size);
  return { image: raw, raw };
};

const noise = (size: number) => {
  const next = random(size);
  return Uint8Array.from({ length: size }, () => next() * 256);
};

/** Noise, text and zeros, in turn. */
const mixed = (size: number) => {
  const stretch = 3000;
  const content = [(byte: number) => byte, (_: number, at: number) => at >> 4, () => 0];
  return noise(size).map((byte, at) => content[Math.floor(at / stretch) % content.length]!(byte, at));
};

const LARGE = 'a sparse disk of some hundred MB';
const FILE_SYSTEM = 'a file system';

const DISKS: Record<string, (folder: string) => Disk> = {
  'an empty disk': (folder) => made(folder, new Uint8Array(), 64 * MIB),
  'a disk of a sector': (folder) => made(folder, noise(SECTOR)),
  'a disk of no whole sectors': (folder) => made(folder, noise(MIB + 1)),
  [LARGE]: () => sparse(300 * MIB),
  'an image of clusters of 512 bytes': (folder) => {
    const { raw } = made(folder, mixed(4 * MIB));
    const image = join(folder, 'tiny.qcow2');
    qemuImg('convert', '-c', '-f', 'raw', '-O', 'qcow2', '-o', 'cluster_size=512', raw, image);
    return { image, raw };
  },
  [FILE_SYSTEM]: () => ({ image: small.zlib(), raw: small.raw() }),
  'what cannot be compressed': (folder) => made(folder, noise(3 * MIB)),
};

/** The programs that read each format. */
const READERS: Record<Question['format'], Reader[]> = {
  qcow2: ['dissect'],
  vmdk: ['dissect', 'libvmdk'],
  vpc: ['dissect', 'libvhdi'],
  vhdx: ['dissect', 'libvhdi'],
  vdi: ['dissect'],
};

/** The results of all programs for an output with a disk of `size` bytes. */
const accepted = (format: Question['format'], size: number): Answer => ({
  read: Object.fromEntries(READERS[format].map((name) => [name, { size, difference: null }])),
  format: format === 'vpc' ? 'vhd' : format,
  virtualSize: size,
  failures: {},
});

/** The short run has smaller disks; judges.spec.ts reads one with data of each kind by the same programs. */
const IN_FULL = [LARGE, FILE_SYSTEM, 'an empty disk', 'an image of clusters of 512 bytes'];

for (const [name, disk] of Object.entries(DISKS)) {
  test(
    `other programs read every output of ${name}`,
    { tag: IN_FULL.includes(name) ? '@full' : [] },
    async ({ folder, readers }) => {
      const { image: source, raw } = disk(folder);
      const size = Math.ceil(statSync(raw).size / SECTOR) * SECTOR;
      const image = await decant.open(source, source === raw ? { inputFormat: 'raw' } : {});
      for (const [output, { format, formatOptions, most = size }] of Object.entries(OUTPUTS)) {
        if (size > most) continue;
        const path = join(folder, output);
        await image.convert(path, { format, formatOptions });
        expect(await readers({ image: path, format, disk: raw }), output).toEqual(accepted(format, size));
      }
      await image.close();
    },
  );
}

test('other programs find other bytes, and what is not safe', async ({ folder, readers }) => {
  const paths = ['disk.raw', 'base.qcow2', 'top.qcow2'].map((name) => join(folder, name));
  const [raw, base, top] = paths as [string, string, string];
  writeFileSync(raw, noise(5 * MIB));
  qemuImg('convert', '-f', 'raw', '-O', 'qcow2', raw, base);
  qemuImg('create', '-q', '-f', 'qcow2', '-F', 'qcow2', '-b', 'base.qcow2', top);
  const changed = `${raw}.changed`;
  copyFileSync(raw, changed);
  writeFileSync(changed, 'other', { flag: 'r+' });
  const found = await readers({ image: top, format: 'qcow2', disk: changed });
  expect(found).toMatchObject({ read: { dissect: { difference: 0 } }, format: 'qcow2' });
  expect(found.failures).toHaveProperty('backing_file');
});
