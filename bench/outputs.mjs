// Compares outputs other than raw with qemu-img, tar and gzip.

import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { bareCopy } from './conversions.mjs';
import { at, half, image, mostlyEmpty } from './images.mjs';
import { alternate, OUT, perBuild, print, printRatios, timed } from './report.mjs';

/** The size of a disk in an archive: whole GiB. `image` and `mostlyEmpty` have less than 4. */
const DISK = '4G';

/** As Google Cloud documents it, except for sparse members. */
const archive = (gzip) => (path) => {
  const script = `
    set -o pipefail
    qemu-img convert -O raw "$1" "$2/disk.raw"
    truncate -s ${DISK} "$2/disk.raw"
    tar --format=oldgnu -C "$2" -cf - disk.raw | ${gzip} -6 > "$3"
    rm "$2/disk.raw"`;
  return timed('bash', '-ec', script, 'bash', path, at('.'), OUT);
};

/** A raw disk, compressed by a program on all cores. */
const compressedRaw = (command) => (path) => {
  const script = `
    qemu-img convert -O raw "$1" "$2/disk.raw"
    ${command} -T0 < "$2/disk.raw" > "$3"
    rm "$2/disk.raw"`;
  return timed('bash', '-ec', script, 'bash', path, at('.'), OUT);
};

const VHD = ['-O', 'vpc', '-o', 'subformat=fixed,force_size=on'];

/** The same options for qemu-img and for the command. */
const COMPRESSED = ['-c', '-O', 'qcow2'];
const ZSTD = [...COMPRESSED, '-o', 'compression_type=zstd'];
const VMDK = ['-O', 'vmdk', '-o', 'subformat=streamOptimized'];

/** A disk in an archive, without a descriptor and a manifest. */
const diskOfOva = (path) => {
  const script = `
    qemu-img convert -O vmdk -o subformat=streamOptimized "$1" "$2/disk.vmdk"
    tar --format=oldgnu -C "$2" -cf "$3" disk.vmdk
    rm "$2/disk.vmdk"`;
  return timed('bash', '-ec', script, 'bash', path, at('.'), OUT);
};

const qemu =
  (...options) =>
  (path) =>
    timed('qemu-img', 'convert', ...options, path, OUT);

/** Outputs in blocks that are allocated as they are needed. */
const DYNAMIC = [
  { name: 'VHDX', format: 'vhdx' },
  { name: 'VDI', format: 'vdi' },
  { name: 'dynamic VHD', format: 'vpc', formatOptions: { subformat: 'dynamic' } },
].flatMap(({ name, format, formatOptions = {} }) => {
  const options = Object.entries(formatOptions).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  const args = ['-O', format, ...options];
  return ['zlib', 'uncompressed'].map((kind) => ({
    name: `${name} out, ${kind}`,
    args,
    format,
    formatOptions,
    path: () => image(kind),
    rivals: { 'qemu-img convert -W': qemu('-W', ...args) },
    isBesideCopy: kind === 'uncompressed',
  }));
});

const ROWS = [
  {
    name: 'qcow2 out, compressed, zlib',
    args: COMPRESSED,
    format: 'qcow2',
    formatOptions: { compress: 'on' },
    path: () => image('zlib'),
    rivals: { 'qemu-img convert -c -W': qemu('-W', ...COMPRESSED) },
  },
  {
    name: 'qcow2 out, compressed by zstd, zlib',
    args: ZSTD,
    format: 'qcow2',
    formatOptions: { compress: 'on', compression_type: 'zstd' },
    path: () => image('zlib'),
    rivals: { 'qemu-img convert -c -W': qemu('-W', ...ZSTD) },
  },
  {
    name: 'qcow2 out, plain, zlib',
    args: ['-O', 'qcow2'],
    format: 'qcow2',
    path: () => image('zlib'),
    rivals: { 'qemu-img convert -W': qemu('-W', '-O', 'qcow2') },
  },
  {
    name: 'VMDK streamOptimized out, zlib',
    args: VMDK,
    format: 'vmdk',
    formatOptions: { subformat: 'streamOptimized' },
    path: () => image('zlib'),
    rivals: { 'qemu-img convert': qemu(...VMDK) },
  },
  {
    name: 'OVA out, zlib',
    format: 'ova',
    path: () => image('zlib'),
    rivals: { 'qemu-img convert, tar': diskOfOva },
  },
  ...DYNAMIC,
  ...['zlib', 'uncompressed'].map((kind) => ({
    name: `fixed VHD out, ${kind}`,
    format: 'vpc',
    path: () => image(kind),
    rivals: { 'qemu-img convert -W': qemu('-W', ...VHD) },
  })),
  {
    name: 'raw.zst out, 512 MiB',
    format: 'raw.zst',
    path: half,
    rivals: { 'qemu-img, zstd -3 -T0': compressedRaw('zstd -q -3') },
  },
  {
    name: 'raw.xz out, 512 MiB',
    format: 'raw.xz',
    path: half,
    rivals: { 'qemu-img, xz -1 -T0': compressedRaw('xz -1') },
  },
  {
    name: 'tar.gz out',
    format: 'tar.gz',
    path: () => image('uncompressed'),
    rivals: { 'qemu-img, tar, gzip -6': archive('gzip'), 'qemu-img, tar, pigz -6': archive('pigz') },
  },
  {
    name: 'tar.gz out, a disk that is 90 % empty',
    format: 'tar.gz',
    path: mostlyEmpty,
    rivals: { 'qemu-img, tar, gzip -6': archive('gzip') },
  },
];

/** The unit of allocation of the image, as qemu-img states it; `undefined` if there is none. */
function blockSize(path) {
  const { 'cluster-size': size } = JSON.parse(execFileSync('qemu-img', ['info', '--output=json', path]));
  return size;
}

/** The size of a file, how much of it is on the disk, and the size of its blocks. */
function measured(path) {
  const { size, blocks } = statSync(path);
  return { size, onDisk: blocks * 512, block: blockSize(path) };
}

const described = (name, { size, onDisk, block }, rival) =>
  [
    `${name} ${(size / rival.size).toFixed(3)} ×`,
    `on the disk ${(onDisk / rival.onDisk).toFixed(3)} ×`,
    ...(block === undefined ? [] : [`blocks of ${block / 1024} KiB`]),
  ].join(', ');

export async function outputs(browser) {
  for (const { name, format, args = ['-O', format], formatOptions = {}, path: made, rivals, isBesideCopy } of ROWS) {
    const path = made();
    execFileSync('cat', [path], { stdio: 'ignore' });
    const sizes = new Map();
    const sized = (name, run) => () => {
      const { real } = run();
      sizes.set(name, measured(OUT));
      return real;
    };
    const others = Object.entries(rivals).map(([name, run]) => [name, sized(name, () => run(path))]);
    const node = ({ name, command }) =>
      sized(`${name}, Node`, () => timed(process.execPath, command, 'convert', '-q', ...args, path, OUT))();
    print(`\n## ${name}`);
    const times = await alternate({
      ...Object.fromEntries(others),
      ...perBuild('Node', node),
      ...perBuild('Chromium to OPFS, workers', (build) =>
        browser.convert(build, path, 'workers', { format, formatOptions }),
      ),
      ...(isBesideCopy ? await bareCopy(browser, path) : {}),
    });
    const [rival] = Object.keys(rivals);
    printRatios(times, rival);
    const rivalSizes = sizes.get(rival);
    const against = [...sizes].map(([name, found]) => described(name, found, rivalSizes));
    const of = ({ size, onDisk }) => `${(size / 1e6).toFixed(0)} MB, on the disk ${(onDisk / 1e6).toFixed(0)} MB`;
    print(`\nSizes: ${against.join('; ')} (${of(rivalSizes)}).`);
  }
}
