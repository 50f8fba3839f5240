// Block devices, as Linux tells of them in /sys/dev/block/MAJOR:MINOR.

import { type BigIntStats, readdir } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The unit of `size`, whatever the device's own. */
const SECTOR = 512;

/** The folder of a device, by its number, as glibc's `gnu_dev_major` and `gnu_dev_minor` split it. */
function folderOf(device: bigint): string {
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn);
  const minor = (device & 0xffn) | ((device >> 12n) & ~0xffn);
  return `/sys/dev/block/${major}:${minor}`;
}

/** The device that a file lies on, or that it is. */
export const deviceOf = (file: BigIntStats): bigint => (file.isBlockDevice() ? file.rdev : file.dev);

export async function deviceSize(device: bigint): Promise<number> {
  return Number(await readFile(join(folderOf(device), 'size'), 'utf8')) * SECTOR;
}

/**
 * The files that keep the content of a block device, or of a file system on it: those of loop devices, through
 * partitions, stacked devices, and file systems that lie on loop devices themselves. None where the system does not tell.
 */
export async function filesBehind(device: bigint): Promise<BigIntStats[]> {
  const folder = await realpath(folderOf(device)).catch(() => undefined);
  return folder === undefined ? [] : behind(folder);
}

async function behind(folder: string): Promise<BigIntStats[]> {
  const found: BigIntStats[] = [];
  // A partition tells nothing, its device does.
  for (const device of [folder, join(folder, '..')]) {
    const file = await loopFile(device);
    if (file) found.push(file, ...(await filesBehind(deviceOf(file))));
    // There are none where it is not made of others. The promises' own `readdir` ends Node 20 where permissions forbid it.
    for (const part of await promisify(readdir)(join(device, 'slaves')).catch(() => [])) {
      found.push(...(await behind(await realpath(join(device, 'slaves', part)))));
    }
  }
  return found;
}

/** The file of a loop device. It may be out of sight, from a container for instance. */
async function loopFile(device: string): Promise<BigIntStats | undefined> {
  try {
    const line = await readFile(join(device, 'loop', 'backing_file'));
    return await stat(line.subarray(0, -1), { bigint: true });
  } catch {
    return undefined;
  }
}
