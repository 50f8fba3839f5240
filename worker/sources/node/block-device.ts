// Block devices of Linux, described in /sys/dev/block/MAJOR:MINOR.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The unit of the file `size` in bytes, for all devices. */
const SECTOR = 512;

/** MAJOR:MINOR of a device, as glibc's `gnu_dev_major` and `gnu_dev_minor` split its number. */
export function numbersOf(device: bigint): string {
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn);
  const minor = (device & 0xffn) | ((device >> 12n) & ~0xffn);
  return `${major}:${minor}`;
}

export const folderOf = (device: bigint): string => `/sys/dev/block/${numbersOf(device)}`;

/** The size of a block device, in bytes. */
export async function deviceSize(device: bigint): Promise<number> {
  return Number(await readFile(join(folderOf(device), 'size'), 'utf8')) * SECTOR;
}
