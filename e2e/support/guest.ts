// A disk with a small Linux that starts by BIOS and by UEFI, and virtual machines that start from it.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Ended, run } from './command.js';
import { cached } from './images.js';
import type { DiskFormat } from './outputs.js';

/** The files of Debian's packages: scripts/setup.mjs. */
const files = fileURLToPath(new URL('../../.cache/guest', import.meta.url));
const OVMF = '/usr/share/OVMF';
const MBR = '/usr/lib/syslinux/mbr/mbr.bin';

const MIB = 2 ** 20;
/** Where the partitions start and how long they are, in MiB. */
const BOOT = { start: 1, size: 20 };
const ROOT = { start: 21, size: 11 };
const SIZE = (ROOT.start + ROOT.size) * MIB;

/** The drivers of NVMe and ext4 are part of the kernel. The check of the timer fails if the machine is slow. */
const ARGUMENTS = 'root=/dev/nvme0n1p2 ro console=ttyS0 quiet panic=-1 no_timer_check';

/** Prints the SHA-256 of the disk and restarts, which ends qemu. */
const INIT = `#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
echo "disk: $(/bin/busybox head -c ${SIZE} /dev/nvme0n1 | /bin/busybox sha256sum)"
/bin/busybox reboot -f
`;

/** Writes `text` as the file `path` in the FAT file system `image`. */
const addText = (image: string, path: string, text: string) =>
  execFileSync('mcopy', ['-i', image, '-', `::${path}`], { input: text });

/** A FAT with the kernel, SYSLINUX for BIOS and systemd-boot for UEFI. */
function makeBoot(image: string): void {
  execFileSync('/sbin/mkfs.fat', ['-C', image, String(BOOT.size * 1024)], { stdio: 'ignore' });
  execFileSync('mmd', ['-i', image, ...['EFI', 'EFI/BOOT', 'loader', 'loader/entries'].map((name) => `::${name}`)]);
  const kernel = readdirSync(join(files, 'boot')).find((name) => name.startsWith('vmlinuz'))!;
  const manager = join(files, 'usr/lib/systemd/boot/efi/systemd-bootx64.efi');
  for (const [from, to] of [
    [join(files, 'boot', kernel), 'vmlinuz'],
    [manager, 'EFI/BOOT/BOOTX64.EFI'],
  ] as const) {
    execFileSync('mcopy', ['-i', image, from, `::${to}`]);
  }
  addText(image, 'loader/entries/linux.conf', `title Linux\nlinux /vmlinuz\noptions ${ARGUMENTS}\n`);
  addText(image, 'syslinux.cfg', `DEFAULT linux\nLABEL linux\nKERNEL vmlinuz\nAPPEND ${ARGUMENTS}\n`);
  execFileSync('syslinux', ['--install', image]);
}

/** An ext4 with a shell, and a first program for it. */
function makeRoot(image: string, content: string): void {
  for (const name of ['bin', 'dev', 'sbin']) mkdirSync(join(content, name), { recursive: true });
  copyFileSync(join(files, 'bin/busybox'), join(content, 'bin/busybox'));
  writeFileSync(join(content, 'sbin/init'), INIT, { mode: 0o755 });
  const options = ['-q', '-F', '-t', 'ext4', '-O', '^has_journal', '-d', content];
  execFileSync('/sbin/mke2fs', [...options, image, `${ROOT.size}M`], { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** The raw disk. */
export const bootable = (): string =>
  cached('bootable.raw', (path) => {
    const [boot, filled, content] = [`${path}.boot`, `${path}.root`, `${path}.files`];
    makeBoot(boot);
    makeRoot(filled, content);
    writeFileSync(path, '');
    truncateSync(path, SIZE);
    const part = ({ start, size }: typeof BOOT) => `start=${start}MiB, size=${size}MiB`;
    const table = `label: dos\n${part(BOOT)}, type=e, bootable\n${part(ROOT)}, type=83\n`;
    execFileSync('/sbin/sfdisk', ['-q', path], { input: table });
    const dd = (from: string, ...options: string[]) =>
      execFileSync('dd', [`if=${from}`, `of=${path}`, 'conv=notrunc,sparse', 'status=none', ...options]);
    dd(boot, 'bs=1M', `seek=${BOOT.start}`);
    dd(filled, 'bs=1M', `seek=${ROOT.start}`);
    dd(MBR, 'bs=440');
    for (const made of [boot, filled, content]) rmSync(made, { recursive: true });
  });

export const FIRMWARE = ['BIOS', 'UEFI'] as const;
export type Firmware = (typeof FIRMWARE)[number];

/** Starts a virtual machine from a disk, which it does not change, and waits for its end. Its console is `stdout`. */
export function startGuest(disk: { path: string; format: DiskFormat }, firmware: Firmware, folder: string): Ended {
  const drive = (...options: string[]) => ['-drive', options.join(',')];
  const flash = (name: string, ...options: string[]) => drive('if=pflash,format=raw', `file=${name}`, ...options);
  const variables = join(folder, 'variables.fd');
  if (firmware === 'UEFI') copyFileSync(join(OVMF, 'OVMF_VARS_4M.fd'), variables);
  return run('qemu-system-x86_64', [
    // KVM hangs on some machines.
    ...['-machine', 'pc,accel=tcg', '-m', '256', '-no-reboot', '-nic', 'none'],
    ...['-display', 'none', '-monitor', 'none', '-serial', 'stdio'],
    ...(firmware === 'UEFI' ? [...flash(join(OVMF, 'OVMF_CODE_4M.fd'), 'readonly=on'), ...flash(variables)] : []),
    ...drive('if=none', 'id=disk', `format=${disk.format}`, `file=${disk.path}`, 'snapshot=on'),
    ...['-device', 'nvme,serial=1,drive=disk,bootindex=0'],
  ]);
}
