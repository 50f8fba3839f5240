// Finds the hardware of a machine by the contents of its disk.

import type { Contents } from './disk-contents.js';

/** Partitions and file systems of Windows, of Linux, and of other systems. */
const OF_WINDOWS = /^(Microsoft reserved|Windows recovery|NTFS|BitLocker|ReFS)$/;
const OF_LINUX = /^(Linux|ext[234]|XFS|Btrfs|LVM|LUKS|swap)/;
const OF_OTHERS = /^(FreeBSD|OpenBSD|NetBSD|Apple|HFS|APFS)/;

/** The firmware that starts the disk, and its system, if there are signs of only one. */
export function hardwareShown({ firmware = [], partitions }: Contents): { firmware?: 'bios' | 'efi'; os?: string } {
  if (firmware.length === 0) return {};
  const found = partitions.flatMap(({ type = '', fileSystem }) => [type, fileSystem?.name ?? '']);
  const has = (kind: RegExp) => found.some((name) => kind.test(name));
  const starts = firmware.includes('bios') ? 'bios' : 'efi';
  if (has(OF_OTHERS)) return { firmware: starts };
  if (has(OF_LINUX)) return { firmware: starts, os: 'linux' };
  return { firmware: starts, ...(has(OF_WINDOWS) && { os: 'windows10' }) };
}
