// The firmware that starts the disk, as far as there are signs of it.

import type { Disk } from './disk.js';
import type { Firmware, Table } from './disk-contents.js';

/** The length of an MBR's boot code, in bytes. Its table follows. */
const CODE = 440;
const ENTRIES = [446, 462, 478, 494];
const ACTIVE = 0x80;

/** Signs of UEFI: an EFI system partition. Of BIOS: a partition for its boot code, or an MBR that leads to the system. */
export async function firmwareOf(disk: Disk, { kind, parts }: Table): Promise<Firmware[]> {
  const has = (wanted: string) => parts.some(({ type }) => type === wanted);
  const found: Firmware[] = [];
  if (has('EFI system')) found.push('UEFI');
  if (has('BIOS boot') || (kind === 'MBR' && (await isStarted(disk)))) found.push('BIOS');
  return found;
}

/** Whether the MBR has boot code, and an active partition or GRUB. Tools write code that starts nothing to disks for data. */
async function isStarted(disk: Disk): Promise<boolean> {
  const mbr = await disk.read(0, 512);
  const code = mbr.part(0, CODE);
  const isActive = ENTRIES.some((at) => mbr.u8(at) === ACTIVE);
  return code.some((byte) => byte !== 0) && (isActive || new TextDecoder('latin1').decode(code).includes('GRUB'));
}
