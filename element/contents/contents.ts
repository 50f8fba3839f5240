// What is inside a disk: its partitions and file systems.

import { Disk } from './disk.js';
import { fileSystemAt } from './file-systems.js';
import { tableOf } from './tables.js';
import type { Contents, Part } from './types.js';

/** How many partitions are looked into. Of the others, only what the table says is told. */
const MOST_LOOKED_INTO = 32;
/** File systems whose first sector may be taken for a partition table, which it is not. */
const WITH_BOOT_CODE = /^(FAT|exFAT|NTFS|BitLocker|ReFS)/;

/**
 * Reads a few small parts of a disk of `size` bytes, at most about 100 KB for each partition. `read` resolves to exactly
 * `length` bytes. Whatever stands on the disk, it fails only with what `read` fails with.
 */
export async function contentsOf(
  read: (offset: number, length: number) => Promise<Uint8Array>,
  size: number,
): Promise<Contents> {
  const disk = new Disk(read, size);
  const whole = await fileSystemAt(disk, 0);
  const alone: Part[] = whole ? [{ offset: 0, size, fileSystem: whole }] : [];
  if (whole && WITH_BOOT_CODE.test(whole.name)) return { parts: alone };
  const table = await tableOf(disk);
  if (!table) return { parts: alone };
  const { parts, ...rest } = table;
  for (const part of parts.slice(0, MOST_LOOKED_INTO)) {
    const found = await fileSystemAt(disk, part.offset);
    if (found) part.fileSystem = found;
  }
  return { table: rest, parts };
}
