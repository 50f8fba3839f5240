// Compares outputs other than raw with qemu-img, tar and gzip.

import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { quick } from './arguments.mjs';
import { at, image, mostlyEmpty } from './images.mjs';
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
  ...['zlib', 'uncompressed'].map((kind) => ({
    name: `fixed VHD out, ${kind}`,
    format: 'vpc',
    path: () => image(kind),
    rivals: { 'qemu-img convert -W': qemu('-W', ...VHD) },
  })),
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

export async function outputs(browser) {
  for (const { name, format, args = ['-O', format], formatOptions = {}, path: made, rivals } of ROWS) {
    const path = made();
    execFileSync('cat', [path], { stdio: 'ignore' });
    const sizes = new Map();
    const sized = (name, run) => () => {
      const { real } = run();
      sizes.set(name, statSync(OUT).size);
      return real;
    };
    const others = Object.entries(rivals).map(([name, run]) => [name, sized(name, () => run(path))]);
    const node = ({ name, command }) =>
      sized(`${name}, Node`, () => timed(process.execPath, command, 'convert', '-q', ...args, path, OUT))();
    print(`\n## ${name}`);
    const times = await alternate({
      ...Object.fromEntries(others),
      ...perBuild('Node', node),
      ...(quick
        ? {}
        : perBuild('Chromium to OPFS, workers', (build) =>
            browser.convert(build, path, 'workers', { format, formatOptions }),
          )),
    });
    const [rival] = Object.keys(rivals);
    printRatios(times, rival);
    const against = [...sizes].map(([name, size]) => `${name} ${(size / sizes.get(rival)).toFixed(3)} ×`);
    print(`\nSizes: ${against.join('; ')} (${(sizes.get(rival) / 1e6).toFixed(0)} MB).`);
  }
}
