// Real images from real file systems, made once by qemu-img and kept in .cache.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { disk, PASSWORD } from './pairs.mjs';
import { qemuImg, qemuImgLuks } from './qemu.js';
import { byScope } from './scope.js';

export { PASSWORD, qemuImg, qemuImgLuks };

/** The size of the disk whose images most tests convert, in bytes. `DECANT_DISK_MIB` sets another one, from 1 up. */
export const DISK_SIZE = Number(process.env.DECANT_DISK_MIB ?? byScope({ short: 32, full: 96, long: 300 })) << 20;

const folder = fileURLToPath(new URL(`../../.cache/images-${DISK_SIZE >> 20}`, import.meta.url));
mkdirSync(folder, { recursive: true });

type Triple = [string, string, string];
type Quadruple = [...Triple, string];

/** The image `name`, made by `make` unless it is there. */
export function cached(name: string, make: (path: string) => void): string {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  // Tests of another process may make it too, with other UUIDs in it: the first one wins, and others are made of that.
  const temporary = `${path}.${process.pid}`;
  make(temporary);
  try {
    linkSync(temporary, path);
  } catch (thrown) {
    if (!existsSync(path)) throw thrown;
  }
  rmSync(temporary);
  return path;
}

/** The folder `name` with several files, made by `make` unless it is there. */
export function cachedFolder(name: string, make: (path: string) => void): string {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  const temporary = `${path}.${process.pid}`;
  mkdirSync(temporary);
  make(temporary);
  try {
    renameSync(temporary, path);
  } catch (thrown) {
    // A test of another process was first.
    if (!existsSync(path)) throw thrown;
    rmSync(temporary, { recursive: true });
  }
  return path;
}

/** Smaller file systems have no room for a journal. */
const LEAST_WITH_JOURNAL = 8 << 20;

/** Copies `left` bytes of this machine's programs and libraries to `content`: whole files, and the start of the last. */
function copyPrograms(content: string, left: number): void {
  for (const library of ['/usr/lib/x86_64-linux-gnu', '/usr/bin', '/usr/lib/chromium']) {
    for (const name of readdirSync(library)) {
      const [file, copy] = [join(library, name), join(content, name)];
      const info = statSync(file, { throwIfNoEntry: false });
      // A small file system has few inodes.
      if (!info?.isFile() || info.size < 16_384 || info.size > 40e6) continue;
      copyFileSync(file, copy);
      if (info.size > left) truncateSync(copy, left);
      left -= Math.min(info.size, left);
      if (left === 0) return;
    }
  }
  throw new Error(`${left} more bytes of files are needed`);
}

/** An ext4 that is two thirds full of this machine's programs and libraries. */
function fileSystem(): string {
  return cached('disk.raw', (path) => {
    const content = `${path}.files`;
    mkdirSync(content);
    copyPrograms(content, Math.ceil((DISK_SIZE / 3) * 2));
    writeFileSync(path, '');
    truncateSync(path, DISK_SIZE);
    const journal = DISK_SIZE < LEAST_WITH_JOURNAL ? ['-O', '^has_journal'] : [];
    execFileSync('/sbin/mkfs.ext4', ['-q', '-F', ...journal, '-d', content, path]);
    rmSync(content, { recursive: true });
  });
}

const convert =
  (...options: string[]) =>
  (path: string) => {
    qemuImg('convert', '-O', 'qcow2', ...options, fileSystem(), path);
  };

/** The passwords of the two layers of `lockedChain`. */
export const CHAIN_PASSWORDS = { top: 'of the top', base: 'of the base' };

const SECRET = ['--object', `secret,id=s,data=${PASSWORD}`];
const LUKS = ['-o', 'encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=50'];
const VOLUME = ['-o', 'key-secret=s,iter-time=50'];

const write = (path: string, ...commands: string[]) =>
  execFileSync('qemu-io', [...commands.flatMap((command) => ['-c', `write -q ${command}`]), path]);

/** Makes `child` a differencing VDI over `parent`, which qemu-img cannot make. */
function adopt(child: string, parent: string): void {
  // The offsets of the type, the UUIDs of the disk and its state, and those of the parent.
  const [type, own, above] = [76, 392, 424];
  const differencing = 4;
  const file = openSync(child, 'r+');
  writeSync(file, readFileSync(parent), own, 32, above);
  writeSync(file, Buffer.of(differencing), 0, 1, type);
  closeSync(file);
}

export const images = {
  /** The file system as a raw disk, as qemu-img reads it out of the others. */
  raw: () => cached('expected.raw', (path) => qemuImg('convert', '-O', 'raw', images.zlib(), path)),
  zlib: () => cached('zlib.qcow2', convert('-c')),
  plain: () => cached('plain.qcow2', convert()),
  /** Clusters out of guest order, as several coroutines of qemu-img leave them. */
  scattered: () => cached('scattered.qcow2', convert('-c', '-W')),
  /** Smaller clusters than the output's blocks. */
  tiny: () => cached('tiny.qcow2', convert('-c', '-o', 'cluster_size=512,compat=0.10')),
  /** Small clusters, but no smaller than the output's blocks. */
  zlibTiny: () => cached('zlib-4k.qcow2', convert('-c', '-o', 'cluster_size=4k')),
  zstd: () => cached('zstd.qcow2', convert('-c', '-o', 'compression_type=zstd')),
  /** A GPT with an EFI system partition and the file system above. */
  partitioned: () =>
    cached('partitioned.qcow2', (path) => {
      const raw = `${path}.raw`;
      writeFileSync(raw, '');
      truncateSync(raw, DISK_SIZE + (20 << 20));
      const linux = `start=10MiB, size=${DISK_SIZE >> 20}MiB, type=linux`;
      const table = `label: gpt\nstart=1MiB, size=8MiB, type=uefi, name="EFI"\n${linux}\n`;
      execFileSync('/sbin/sfdisk', ['-q', raw], { input: table });
      const copy = ['dd', 'bs=1M', 'seek=10', 'conv=notrunc,sparse', 'status=none', `if=${fileSystem()}`, `of=${raw}`];
      execFileSync(copy[0]!, copy.slice(1));
      qemuImg('convert', '-O', 'qcow2', '-c', '-W', raw, path);
      rmSync(raw);
    }),
  luks: () =>
    cached('luks.qcow2', (path) => {
      qemuImgLuks('convert', ...SECRET, '-O', 'qcow2', ...LUKS, fileSystem(), path);
    }),
  /** Three layers with different cluster sizes that name each other without a folder: the top, its references, the disk. */
  chain: (): { top: string; below: string[]; raw: string } => {
    const paths = (chain: string) =>
      ['base.qcow2', 'middle.qcow2', 'top.qcow2', 'disk.raw'].map((name) => join(chain, name)) as Quadruple;
    const chain = cachedFolder('chain', (folder) => {
      const [base, middle, top, raw] = paths(folder);
      qemuImg('create', '-q', '-f', 'qcow2', base, '3M');
      write(base, '-P 1 0 3M');
      const over = ['create', '-q', '-f', 'qcow2', '-F', 'qcow2', '-b'];
      qemuImg(...over, 'base.qcow2', '-o', 'cluster_size=4k', middle, '4M');
      write(middle, '-P 2 8k 4k', '-P 2 3M 100k');
      qemuImg(...over, 'middle.qcow2', '-o', 'cluster_size=256k,extended_l2=on', top, '5M');
      write(top, '-P 3 16k 8k', '-P 3 4M 100k');
      qemuImg('convert', '-O', 'raw', top, raw);
    });
    const [base, middle, top, raw] = paths(chain);
    return { top, below: [middle, base], raw };
  },
  /** Two encrypted layers, each with its own password: the top, its references, the disk. */
  lockedChain: (): { top: string; base: string; raw: string; passwords: typeof CHAIN_PASSWORDS } => {
    const passwords = CHAIN_PASSWORDS;
    const paths = (chain: string) => ['base.qcow2', 'top.qcow2', 'disk.raw'].map((name) => join(chain, name)) as Triple;
    const chain = cachedFolder('locked-chain', (folder) => {
      const [base, top, raw] = paths(folder);
      const secrets = Object.entries(passwords).flatMap(([id, data]) => ['--object', `secret,id=${id},data=${data}`]);
      const luks = (id: string) => `encrypt.format=luks,encrypt.key-secret=${id},encrypt.iter-time=10`;
      qemuImgLuks('create', '-q', ...secrets, '-f', 'qcow2', '-o', luks('base'), base, '3M');
      const over = ['-u', '-F', 'qcow2', '-b', 'base.qcow2'];
      qemuImgLuks('create', '-q', ...secrets, '-f', 'qcow2', '-o', luks('top'), ...over, top, '4M');
      const opened = (path: string, id: string) => `driver=qcow2,file.filename=${path},encrypt.key-secret=${id}`;
      const fill = (image: string, command: string) =>
        execFileSync('qemu-io', [...secrets, '-c', `write -q ${command}`, '--image-opts', image]);
      fill(opened(base, 'base'), '-P 1 0 3M');
      const whole = `${opened(top, 'top')},backing.driver=qcow2,backing.encrypt.key-secret=base,backing.file.filename=${base}`;
      fill(whole, '-P 2 1M 1M');
      qemuImg('convert', ...secrets, '--image-opts', '-O', 'raw', whole, raw);
    });
    const [base, top, raw] = paths(chain);
    return { top, base, raw, passwords };
  },
  /** A disk with one snapshot: the guest's data then and now. */
  states: () =>
    cached('states.qcow2', (path) => {
      qemuImg('create', '-q', '-f', 'qcow2', path, '2M');
      write(path, '-P 1 0 1M');
      qemuImg('snapshot', '-c', 'before', path);
      write(path, '-P 2 0 1M');
    }),
  /** 128 MiB of data in clusters of 64 KiB; every second one belongs only to a snapshot. */
  halves: () =>
    cached('halves.qcow2', (path) => {
      qemuImg('create', '-q', '-f', 'qcow2', path, '128M');
      write(path, ...Array.from({ length: 128 }, (_, at) => `-P ${at + 1} ${at}M 1M`));
      qemuImg('snapshot', '-c', 'before', path);
      const discards = Array.from({ length: 1024 }, (_, at) => ['-c', `discard -q ${at * 128}k 64k`]);
      execFileSync('qemu-io', [...discards.flat(), path]);
    }),
  /** The guest's data of `states`: 1 then, 2 now. */
  filled: (pattern: 1 | 2) =>
    cached(`filled-${pattern}.raw`, (path) => {
      writeFileSync(path, Buffer.concat([Buffer.alloc(1 << 20, pattern), Buffer.alloc(1 << 20)]));
    }),
  /** With many iterations, so that unlocking takes a while. */
  luksSlow: () =>
    cached('luks-slow.qcow2', (path) => {
      const options = 'encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=40000';
      qemuImgLuks('create', '-q', ...SECRET, '-f', 'qcow2', '-o', options, path, '1M');
    }),
  /** A qcow2 in which a compressed cluster is noise, and which ends early. */
  damaged: () =>
    cached('damaged.qcow2', (path) => {
      copyFileSync(images.corrupt(), path);
      const { size } = statSync(path);
      truncateSync(path, size - Math.min(1_000_000, Math.floor(size / 8)));
    }),
  empty: () => cached('empty.qcow2', (path) => qemuImg('create', '-q', '-f', 'qcow2', path, '100G')),
  /** 10 MB of data on 1 GiB. */
  large: () =>
    cached('large.qcow2', (path) => {
      qemuImg('create', '-q', '-f', 'qcow2', path, '1G');
      execFileSync('qemu-io', ['-c', 'write -q -P 1 300M 5M', '-c', 'write -q -P 2 900M 5M', path]);
    }),
  /** 1 GiB of data in a small file: converting it takes a while. */
  heavy: () =>
    cached('heavy.qcow2', (path) => {
      const plain = `${path}.plain`;
      qemuImg('create', '-q', '-f', 'qcow2', plain, '1G');
      write(plain, '-P 3 0 1G');
      qemuImg('convert', '-c', '-W', '-O', 'qcow2', plain, path);
      rmSync(plain);
    }),
  largeRaw: () => cached('large.raw', (path) => qemuImg('convert', '-O', 'raw', images.large(), path)),
  /** The page's sample, as qemu-img reads it. */
  sample: () =>
    cached('sample.raw', (path) => {
      const sample = fileURLToPath(new URL('../../web/sample.qcow2', import.meta.url));
      qemuImg('convert', '-O', 'raw', sample, path);
    }),
  /** A download that stopped half way. */
  truncated: () =>
    cached('truncated.qcow2', (path) => {
      copyFileSync(images.zlib(), path);
      truncateSync(path, Math.floor(statSync(path).size / 2));
    }),
  /** Noise in the middle of its compressed data. */
  corrupt: () =>
    cached('corrupt.qcow2', (path) => {
      copyFileSync(images.zlib(), path);
      // Tables come first.
      const data = 320 << 10;
      const fd = openSync(path, 'r+');
      writeSync(fd, Buffer.alloc(100_000, 0xff), 0, 100_000, data + Math.floor((statSync(path).size - data) / 2));
      closeSync(fd);
    }),
  /** With internal snapshots. */
  snapshots: () =>
    cached('snapshots.qcow2', (path) => {
      qemuImg('create', '-q', '-f', 'qcow2', path, '10M');
      for (const name of ['first', 'the second']) {
        execFileSync('qemu-io', ['-c', 'write -q -P 9 1M 64k', path]);
        qemuImg('snapshot', '-c', name, path);
      }
    }),
  /** Data, zeros with and without space, and nothing. */
  kinds: () =>
    cached('kinds.qcow2', (path) => {
      qemuImg('create', '-q', '-f', 'qcow2', path, '10M');
      const commands = ['write -q -P 5 0 192k', 'write -q -z 64k 64k', 'write -q -z -u 1M 1M', 'write -q -P 7 5M 70k'];
      execFileSync('qemu-io', [...commands.flatMap((command) => ['-c', command]), path]);
    }),
  /** Data, zeros and nothing, in another format. */
  partly: (format: 'vdi' | 'qed' | 'vpc' | 'parallels') =>
    cached(`partly.${format}`, (path) => {
      qemuImg('create', '-q', '-f', format, path, '10M');
      write(path, '-P 5 1M 1M', '-P 6 4M 64k', '-z 6M 1M', '-P 7 9M 1M');
    }),
  /** The disk of `partly`, as VHDX with these options. */
  vhdx: (options: string) =>
    cached(`${options.replaceAll(/\W/g, '.')}.vhdx`, (path) =>
      qemuImg('convert', '-O', 'vhdx', '-o', options, images.partly('vdi'), path),
    ),
  /** Three VDIs of which each differs from the next: the top, what it refers to, the disk. Their names tell nothing. */
  vdiChain: (): { top: string; below: string[]; raw: string } => {
    const paths = (chain: string) =>
      ['a.vdi', '{b}.vdi', 'c.vdi', 'disk.raw'].map((name) => join(chain, name)) as Quadruple;
    const chain = cachedFolder('vdi-chain', (folder) => {
      const [base, middle, top, raw] = paths(folder);
      const disk = Buffer.alloc(5 << 20);
      for (const [number, path] of [base, middle, top].entries()) {
        qemuImg('create', '-q', '-f', 'vdi', path, '5M');
        write(path, `-P ${number + 1} ${number}M 2M`);
        disk.fill(number + 1, number << 20, (number + 2) << 20);
      }
      adopt(middle, base);
      adopt(top, middle);
      writeFileSync(raw, disk);
    });
    const [base, middle, top, raw] = paths(chain);
    return { top, below: [middle, base], raw };
  },
  /** A disk of nearly 2^53 bytes in which data and holes of 2 MiB take turns: some billions of extents. */
  endless: () =>
    cached('endless.qcow2', (path) => {
      const cluster = 2 ** 21;
      qemuImg('create', '-q', '-f', 'qcow2', '-o', `cluster_size=${cluster}`, path, String(2 ** 53 - 512));
      write(path, '-P 1 0 2M');
      const header = readFileSync(path).subarray(0, 64);
      const [l1Size, l1] = [header.readUInt32BE(36), Number(header.readBigUInt64BE(40))];
      const file = openSync(path, 'r+');
      const entry = Buffer.alloc(8);
      readSync(file, entry, 0, 8, l1);
      // Every L1 entry refers to the one L2 table, and every other entry of that to the one cluster.
      writeSync(file, Buffer.alloc(8 * l1Size, entry), 0, 8 * l1Size, l1);
      const l2 = Number(entry.readBigUInt64BE() & 0x00fffffffffffe00n);
      readSync(file, entry, 0, 8, l2);
      writeSync(file, Buffer.alloc(cluster, Buffer.concat([entry, Buffer.alloc(8)])), 0, cluster, l2);
      closeSync(file);
    }),
  /** The disk of `partly` as a LUKS volume by itself. */
  volume: () =>
    cached('volume.luks', (path) =>
      qemuImgLuks('convert', ...SECRET, '-O', 'luks', ...VOLUME, images.partly('vdi'), path),
    ),
  /** 8 TiB of nothing. */
  huge: () => cached('huge.qcow2', (path) => qemuImg('create', '-q', '-f', 'qcow2', path, '8T')),
};

/** A disk of `size` bytes with 16 MB of data, from its first byte to its last: a qcow2, and what the guest sees. */
export function sparse(size: number): { image: string; raw: string } {
  const name = `sparse-${size / 2 ** 20}`;
  const image = cached(`${name}.qcow2`, (path) => {
    qemuImg('create', '-q', '-f', 'qcow2', path, String(size));
    const [parts, length] = [40, 400 << 10];
    const offsets = Array.from({ length: parts }, (_, part) => ((size - length) / (parts - 1)) * part);
    write(path, ...offsets.map((offset, part) => `-P ${part + 1} ${Math.floor(offset / 512) * 512} ${length}`));
  });
  return { image, raw: cached(`${name}.raw`, (path) => qemuImg('convert', '-O', 'raw', image, path)) };
}

/** The start of the file system, of a size that a page can hold in memory: images, and the disk. */
const start = () => ['--image-opts', `driver=raw,size=${Math.min(24 << 20, DISK_SIZE)},file.filename=${images.raw()}`];
export const small = {
  raw: () => cached('small.raw', (path) => qemuImg('convert', '-O', 'raw', ...start(), path)),
  zlib: () => cached('small.zlib.qcow2', (path) => qemuImg('convert', '-c', '-O', 'qcow2', ...start(), path)),
  zstd: () =>
    cached('small.zstd.qcow2', (path) =>
      qemuImg('convert', '-c', '-O', 'qcow2', '-o', 'compression_type=zstd', ...start(), path),
    ),
  luks: () =>
    cached('small.luks.qcow2', (path) => qemuImgLuks('convert', ...SECRET, '-O', 'qcow2', ...LUKS, ...start(), path)),
};

const convertRaw =
  (format: string, ...options: string[]) =>
  (raw: string, path: string) =>
    qemuImg('convert', '-f', 'raw', '-O', format, ...options, raw, path);

/** How images of the generated matrix are made, where qemu-img does not make them by the name of their format alone. */
const PAIRS: Record<string, (raw: string, path: string) => void> = {
  qcow2: convertRaw('qcow2', '-c'),
  vmdk: convertRaw('vmdk', '-o', 'subformat=streamOptimized'),
  luks: (raw, path) => qemuImgLuks('convert', ...SECRET, '-f', 'raw', '-O', 'luks', ...VOLUME, raw, path),
};

/** The images of the generated matrix, if `formats` are registered. */
export const pairsOf = (formats: string[]): string[] => [...new Set([...formats, ...Object.keys(PAIRS)])];

/** The disk of the generated matrix (pairs.mjs), as one of these images. */
export const pair = (name: string): string =>
  cached(`pair.${name}`, (path) => {
    const raw = cached('pair.disk', (path) => writeFileSync(path, disk()));
    (PAIRS[name] ?? convertRaw(name))(raw, path);
  });

/** The hashes of images in the cache, which do not change. */
const hashes = new Map<string, string>();

/** SHA-256 of a file, hexadecimal. */
export function hashFile(path: string): string {
  const hash = hashes.get(path) ?? hashContent(path);
  if (path.startsWith(folder)) hashes.set(path, hash);
  return hash;
}

function hashContent(path: string): string {
  const hash = createHash('sha256');
  const fd = openSync(path, 'r');
  const chunk = Buffer.alloc(4 << 20);
  for (let length = readSync(fd, chunk); length > 0; length = readSync(fd, chunk))
    hash.update(chunk.subarray(0, length));
  closeSync(fd);
  return hash.digest('hex');
}

/** The space that a file takes on the disk, in bytes. */
export const diskUsage = (path: string): number => statSync(path).blocks * 512;

/** Waits until the file is on the disk. */
export function flush(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Fails where two raw disks are not the same. Holes are not read. */
export function expectSame(path: string, expected: string): void {
  if (statSync(path).size !== statSync(expected).size) throw new Error(`${path} has ${statSync(path).size} bytes`);
  qemuImg('compare', '-f', 'raw', '-F', 'raw', path, expected);
}

/** A VMDK of two flat extents and one of zeros between them, in `folder`; and its disk. */
export function splitVmdk(folder: string): { descriptor: string; extents: string[]; disk: Buffer } {
  const sectors = 300;
  const content = (byte: number) => Buffer.alloc(sectors * 512, byte);
  const extents = ['one.bin', 'two.bin'].map((name) => join(folder, name));
  extents.forEach((path, at) => {
    writeFileSync(path, content(at + 1));
  });
  const lines = [`RW ${sectors} FLAT "one.bin" 0`, `RW ${sectors} ZERO`, `RDONLY ${sectors} FLAT "two.bin" 0`];
  const head = ['# Disk DescriptorFile', 'version=1', 'CID=11223344', 'parentCID=ffffffff', 'createType="custom"'];
  const descriptor = join(folder, 'split.vmdk');
  writeFileSync(descriptor, [...head, ...lines, 'ddb.adapterType = "ide"', ''].join('\n'));
  return { descriptor, extents, disk: Buffer.concat([content(1), content(0), content(2)]) };
}
