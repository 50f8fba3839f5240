// `decant/contents`: the partitions and file systems of a disk. Importing it has no effects.

import { DecantError } from '../errors/errors.js';
import { Disk } from './disk.js';
import type { Contents, Partition } from './disk-contents.js';
import { fileSystemAt } from './file-systems.js';
import { firmwareOf, tableOf } from './tables.js';

export type * from './disk-contents.js';

/** The maximum number of partitions that are examined. Others have only their entries in the table. */
const MAX_EXAMINED = 32;
/** File systems whose first sector may look like a partition table. */
const WITH_BOOT_CODE = /^(FAT|exFAT|NTFS|BitLocker|ReFS)/;

/**
 * Finds the partitions and file systems of a disk of `size` bytes. `read` resolves to exactly `length` bytes from `offset`: for
 * a `DiskImage`, it calls `image.read`. Reads at most about 100 KB for each partition, of at most 32 partitions. Whatever the disk
 * contains, it fails only if `read` fails, with its error, or with `usage` if an argument, or the result of `read`, has the wrong
 * type.
 */
export async function contentsOf(
  read: (offset: number, length: number) => Promise<Uint8Array>,
  size: number,
): Promise<Contents> {
  if (typeof read !== 'function') throw new DecantError('usage', "'read' must be a function");
  if (!Number.isSafeInteger(size) || size < 0) {
    throw new DecantError('usage', "'size' must be a whole number from 0 to 2^53-1");
  }
  const disk = new Disk(read, size);
  const whole = await fileSystemAt(disk, 0);
  const alone: Partition[] = whole ? [{ offset: 0, length: size, fileSystem: whole }] : [];
  if (whole && WITH_BOOT_CODE.test(whole.name)) return { partitions: alone };
  const table = await tableOf(disk);
  if (!table) return { partitions: alone };
  const { partitions, ...rest } = table;
  const examined: Partition[] = [];
  for (const [at, part] of partitions.entries()) {
    const found = at < MAX_EXAMINED ? await fileSystemAt(disk, part.offset) : undefined;
    examined.push(found ? { ...part, fileSystem: found } : part);
  }
  const firmware = await firmwareOf(disk, table);
  return { table: rest, partitions: examined, ...(firmware.length > 0 ? { firmware } : {}) };
}
