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

export const images = {
  /** The file system as a raw disk, as qemu-img reads it out of the others. */
  raw: () => cached('expected.raw', (path) => qemuImg('convert', '-O', 'raw', images.zlib(), path)),
  zlib: () => cached('zlib.qcow2', convert('-c')),
  plain: () => cached('plain.qcow2', convert()),
  /** Clusters out of guest order, as several coroutines of qemu-img leave them. */
  scattered: () => cached('scattered.qcow2', convert('-c', '-W')),
  /** Smaller clusters than the output's blocks. */
  tiny: () => cached('tiny.qcow2', convert('-c', '-o', 'cluster_size=512,compat=0.10')),
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
