// Real images from real file systems, made once by qemu-img and kept in .cache.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
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

const folder = fileURLToPath(new URL('../../.cache/images', import.meta.url));
mkdirSync(folder, { recursive: true });

export const qemuImg = (...args: string[]): string => execFileSync('qemu-img', args, { encoding: 'utf8' });

/** The image `name`, made by `make` unless it is there. */
function cached(name: string, make: (path: string) => void): string {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  // Tests of another process may make it too: the last one wins, with the same content.
  const temporary = `${path}.${process.pid}`;
  make(temporary);
  renameSync(temporary, path);
  return path;
}

/** An ext4 of 300 MB with at least 200 MB of this machine's programs and libraries. */
function disk(): string {
  return cached('disk.raw', (path) => {
    const content = `${path}.files`;
    mkdirSync(content);
    let total = 0;
    for (const library of ['/usr/lib/x86_64-linux-gnu', '/usr/bin', '/usr/lib/chromium']) {
      for (const name of readdirSync(library)) {
        const file = join(library, name);
        const info = statSync(file, { throwIfNoEntry: false });
        if (!info?.isFile() || info.size > 40e6 || total > 215e6) continue;
        execFileSync('cp', [file, content]);
        total += info.size;
      }
    }
    if (total < 200e6) throw new Error(`only ${total} bytes of files were found`);
    execFileSync('truncate', ['-s', '300M', path]);
    execFileSync('/sbin/mkfs.ext4', ['-q', '-F', '-d', content, path]);
    rmSync(content, { recursive: true });
  });
}

const convert =
  (...options: string[]) =>
  (path: string) => {
    qemuImg('convert', '-O', 'qcow2', ...options, disk(), path);
  };

/** The password of the encrypted images. */
export const PASSWORD = 'correct horse';
const SECRET = ['--object', `secret,id=s,data=${PASSWORD}`];

/** Runs qemu-img; making a LUKS header fails now and then for want of an accurate clock. */
function qemuImgLuks(...args: string[]): void {
  for (let attempt = 0; ; attempt += 1) {
    try {
      execFileSync('qemu-img', args, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] });
      return;
    } catch (thrown) {
      if (attempt === 9 || !String((thrown as { stderr: string }).stderr).includes('CPU usage')) throw thrown;
    }
  }
}

const write = (path: string, ...commands: string[]) =>
  execFileSync('qemu-io', [...commands.flatMap((command) => ['-c', `write -q ${command}`]), path]);

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
  luks: () =>
    cached('luks.qcow2', (path) => {
      const options = 'encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=50';
      qemuImgLuks('convert', ...SECRET, '-O', 'qcow2', '-o', options, disk(), path);
    }),
  /** Three layers of unlike cluster sizes that name each other without a folder: the top, what it refers to, the disk. */
  chain: (): { top: string; below: string[]; raw: string } => {
    const chain = join(folder, 'chain');
    const [base, middle, top, raw] = ['base.qcow2', 'middle.qcow2', 'top.qcow2', 'disk.raw'].map((name) =>
      join(chain, name),
    ) as [string, string, string, string];
    if (!existsSync(raw)) {
      rmSync(chain, { recursive: true, force: true });
      mkdirSync(chain);
      qemuImg('create', '-q', '-f', 'qcow2', base, '3M');
      write(base, '-P 1 0 3M');
      const over = ['create', '-q', '-f', 'qcow2', '-F', 'qcow2', '-b'];
      qemuImg(...over, 'base.qcow2', '-o', 'cluster_size=4k', middle, '4M');
      write(middle, '-P 2 8k 4k', '-P 2 3M 100k');
      qemuImg(...over, 'middle.qcow2', '-o', 'cluster_size=256k,extended_l2=on', top, '5M');
      write(top, '-P 3 16k 8k', '-P 3 4M 100k');
      qemuImg('convert', '-O', 'raw', top, raw);
    }
    return { top, below: [middle, base], raw };
  },
  /** A disk with one snapshot: what the guest saw then, and what it sees now. */
  states: () =>
    cached('states.qcow2', (path) => {
      qemuImg('create', '-q', '-f', 'qcow2', path, '2M');
      write(path, '-P 1 0 1M');
      qemuImg('snapshot', '-c', 'before', path);
      write(path, '-P 2 0 1M');
    }),
  /** What the guest sees of `states`: 1 then, 2 now. */
  filled: (pattern: 1 | 2) =>
    cached(`filled-${pattern}.raw`, (path) => {
      writeFileSync(path, Buffer.concat([Buffer.alloc(1 << 20, pattern), Buffer.alloc(1 << 20)]));
    }),
  /** With many iterations, so that unlocking takes a while. */
  luksSlow: () =>
    cached('luks-slow.qcow2', (path) => {
      const options = 'encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=4000';
      qemuImgLuks('create', '-q', ...SECRET, '-f', 'qcow2', '-o', options, path, '1M');
    }),
  /** A qcow2 in which a compressed cluster is noise, and which ends early. */
  damaged: () =>
    cached('damaged.qcow2', (path) => {
      copyFileSync(images.corrupt(), path);
      truncateSync(path, statSync(path).size - 1_000_000);
    }),
  empty: () => cached('empty.qcow2', (path) => qemuImg('create', '-q', '-f', 'qcow2', path, '100G')),
  /** 10 MB of data on 1 GiB. */
  large: () =>
    cached('large.qcow2', (path) => {
      qemuImg('create', '-q', '-f', 'qcow2', path, '1G');
      execFileSync('qemu-io', ['-c', 'write -q -P 1 300M 5M', '-c', 'write -q -P 2 900M 5M', path]);
    }),
  largeRaw: () => cached('large.raw', (path) => qemuImg('convert', '-O', 'raw', images.large(), path)),
  /** The page's sample, as qemu-img reads it. */
  sample: () =>
    cached('sample.raw', (path) => {
      const sample = fileURLToPath(new URL('../../web/public/sample.qcow2', import.meta.url));
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
      const fd = openSync(path, 'r+');
      writeSync(fd, Buffer.alloc(100_000, 0xff), 0, 100_000, Math.floor(statSync(path).size / 2));
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
  /** 8 TiB of nothing. */
  huge: () => cached('huge.qcow2', (path) => qemuImg('create', '-q', '-f', 'qcow2', path, '8T')),
};

/** SHA-256 of a file, hexadecimal. */
export function hashFile(path: string): string {
  const hash = createHash('sha256');
  const fd = openSync(path, 'r');
  const chunk = Buffer.alloc(4 << 20);
  for (let length = readSync(fd, chunk); length > 0; length = readSync(fd, chunk))
    hash.update(chunk.subarray(0, length));
  closeSync(fd);
  return hash.digest('hex');
}

/** What a file takes on the disk, in bytes. */
export const diskUsage = (path: string): number => statSync(path).blocks * 512;
