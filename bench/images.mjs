// The benchmark's images: a real ext4 with this machine's programs and libraries, in every format and compression, kept in
// .cache/bench; those of the quick benchmark are smaller, in .cache/bench-quick.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { root, say } from '../scripts/lib.mjs';
import { quick } from './arguments.mjs';

const folder = join(root, '.cache', quick ? 'bench-quick' : 'bench');
/** The least data in the file system, in bytes. */
const DATA = quick ? 0.6e9 : 2.1e9;
/** The size of the disk of `image` and of the one of `part`, in bytes. */
export const DISK = (quick ? 1024 : 3584) * 2 ** 20;
export const PART = 2 ** 30;
const SOURCES = [
  '/usr/lib/chromium',
  '/usr/lib/x86_64-linux-gnu',
  '/usr/bin',
  '/usr/lib',
  '/opt',
  join(homedir(), '.rustup'),
];

mkdirSync(folder, { recursive: true });
export const at = (name) => join(folder, name);

/** Makes a file under another name and renames it, so that an existing file is complete. */
export function once(name, make) {
  const path = at(name);
  if (!existsSync(path)) {
    say(`making ${name}`);
    make(`${path}.new`);
    execFileSync('mv', [`${path}.new`, path]);
  }
  return path;
}

/** What `disk` is. */
export const DESCRIPTION = `An ext4 of ${DISK / 2 ** 30} GiB with about ${(DATA / 1e9).toFixed(1)} GB of data`;

/** An ext4 with files. */
export const disk = () =>
  once('disk.raw', (path) => {
    const files = at('files');
    rmSync(files, { recursive: true, force: true });
    mkdirSync(files);
    let total = 0;
    const take = (from) => {
      for (const entry of readdirSync(from, { withFileTypes: true })) {
        if (total > DATA) return;
        const inside = join(from, entry.name);
        if (entry.isDirectory()) take(inside);
        else if (entry.isFile()) {
          execFileSync('cp', ['--parents', inside, files]);
          total += statSync(inside).size;
        }
      }
    };
    for (const source of SOURCES) if (existsSync(source)) take(source);
    execFileSync('truncate', ['-s', String(DISK), path]);
    execFileSync('/sbin/mkfs.ext4', ['-q', '-F', '-d', files, path]);
    rmSync(files, { recursive: true });
  });

const qemuImg = (...args) => execFileSync('qemu-img', args, { stdio: ['ignore', 'ignore', 'inherit'] });

/** Images with clusters or grains of 64 KiB, each with its format and options. */
const KINDS = {
  zlib: ['qcow2', '-c'],
  'zlib, scattered': ['qcow2', '-c', '-W'],
  zstd: ['qcow2', '-c', '-o', 'compression_type=zstd'],
  'zstd, scattered': ['qcow2', '-c', '-W', '-o', 'compression_type=zstd'],
  uncompressed: ['qcow2'],
  'VMDK streamOptimized': ['vmdk', '-o', 'subformat=streamOptimized'],
  VDI: ['vdi'],
};
export const kinds = Object.keys(KINDS);

/** The disk as an image of this kind. */
export const image = (kind) => {
  const [format, ...options] = KINDS[kind];
  const name = `${kind.replace(/,? /, '-')}.${format}`;
  return once(name, (path) => qemuImg('convert', '-f', 'raw', '-O', format, ...options, disk(), path));
};

/** The disk as the command `pack` writes it to standard output. */
export const packed = (name, pack) =>
  once(name, (path) => execFileSync('bash', ['-c', `${pack} "$1" > "$2"`, 'bash', disk(), path]));

/** Some MiB of it, not compressed. */
const piece = (name, start, count) =>
  once(`${name}.qcow2`, (path) => {
    const raw = at(`${name}.raw`);
    const range = ['bs=1M', `skip=${start}`, `count=${count}`, 'conv=sparse', 'status=none'];
    execFileSync('dd', [`if=${disk()}`, `of=${raw}`, ...range]);
    qemuImg('convert', '-f', 'raw', '-O', 'qcow2', raw, path);
    rmSync(raw);
  });

/** The first GiB. */
export const part = () => piece('part', 0, 1024);
/** 512 MiB, from where the files start. */
export const half = () => piece('half', 256, 512);

/** 1 GiB of data in clusters of 64 KiB; every second one belongs only to a snapshot. */
export const halves = () =>
  once('halves.qcow2', (path) => {
    qemuImg('create', '-q', '-f', 'qcow2', path, '1G');
    const numbers = (count, command) => Array.from({ length: count }, (_, number) => ['-c', command(number)]).flat();
    const qemuIo = (commands) => execFileSync('qemu-io', [...commands, path], { stdio: 'ignore' });
    qemuIo(numbers(1024, (number) => `write -q -P ${1 + (number % 255)} ${number}M 1M`));
    qemuImg('snapshot', '-c', 'before', path);
    qemuIo(numbers(8192, (number) => `discard -q ${number * 128}k 64k`));
  });

/** A disk of 100 GiB with the data of `disk`. */
export const large = () =>
  once('large.qcow2', (path) => {
    qemuImg('convert', '-f', 'raw', '-O', 'qcow2', disk(), path);
    qemuImg('resize', '-q', path, '100G');
  });

/** The ranges of the file that have data of the disk, each from `start` to `end`. */
export function allocated(path) {
  const map = JSON.parse(execFileSync('qemu-img', ['map', '--output=json', path], { maxBuffer: 1 << 28 }));
  const hosts = map.filter(({ data }) => data).map(({ offset, length }) => ({ start: offset, end: offset + length }));
  return hosts.toSorted((a, b) => a.start - b.start);
}

/** A disk of the size of `disk`, with a tenth of its data. */
export const mostlyEmpty = () =>
  once('mostly-empty.qcow2', (path) => {
    const raw = at('mostly-empty.raw');
    const megabytes = DISK / 2 ** 20;
    rmSync(raw, { force: true });
    // Starts where the files are.
    const count = Math.round(megabytes / 10);
    execFileSync('dd', [`if=${disk()}`, `of=${raw}`, 'bs=1M', 'skip=256', `count=${count}`, 'status=none']);
    execFileSync('truncate', ['-s', `${megabytes}M`, raw]);
    qemuImg('convert', '-f', 'raw', '-O', 'qcow2', raw, path);
    rmSync(raw);
  });

/** An empty disk. */
export const empty = (size) =>
  once(`empty-${size}.qcow2`, (path) => qemuImg('create', '-q', '-f', 'qcow2', path, size));

/** 100 MB of data, spread over a disk of `size`. */
export const sparse = (size, gap) =>
  once(`sparse-${size}.qcow2`, (path) => {
    qemuImg('create', '-q', '-f', 'qcow2', path, size);
    const writes = Array.from({ length: 100 }, (_, number) => `write -q -P ${1 + number} ${number * gap} 1M`);
    execFileSync('qemu-io', [...writes.flatMap((write) => ['-c', write]), path]);
  });

const CELL = 256;

/** A cell of the sweep: 256 MiB of the disk, `share` per cent of them with data, in clusters of `cluster` bytes. */
export const cell = (kind, share, cluster) =>
  once(`cell-${kind}-${share}-${cluster}.qcow2`, (path) => {
    const raw = at('cell.raw');
    rmSync(raw, { force: true });
    const megabytes = (CELL * share) / 100;
    // Starts where the files are.
    execFileSync('dd', [`if=${disk()}`, `of=${raw}`, 'bs=1M', 'skip=256', `count=${megabytes}`, 'status=none']);
    execFileSync('truncate', ['-s', `${CELL}M`, raw]);
    const options = ['-o', `cluster_size=${cluster}${kind === 'zstd' ? ',compression_type=zstd' : ''}`];
    qemuImg('convert', '-f', 'raw', '-O', 'qcow2', ...(kind === 'uncompressed' ? [] : ['-c']), ...options, raw, path);
    rmSync(raw);
  });
