// What lies below block devices: other devices, and the files of loop devices.

import { type BigIntStats, readdir } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { folderOf, numbersOf } from '../../sources/node/block-device.js';
import { isSame } from './resolved-path.js';

/** The device that a file lies on, or that it is. */
const deviceOf = (file: BigIntStats): bigint => (file.isBlockDevice() ? file.rdev : file.dev);

/** Whether one of `a` and `b` is the other, or keeps its content: a change of one may change the other. */
export async function overlap(a: BigIntStats, b: BigIntStats): Promise<boolean> {
  return isSame(a, b) || (await below(a)).has(b) || (await below(b)).has(a);
}

/**
 * What keeps the content of a file, or of a block device: the devices below it, partitions and stacked ones included, and
 * the files of loop devices, with what is below those. Nothing where the system does not tell.
 */
export async function below(file: BigIntStats): Promise<Below> {
  const found = new Below();
  await found.add(deviceOf(file));
  return found;
}

class Below {
  readonly #files: BigIntStats[] = [];
  readonly #devices = new Set<string>();

  has(file: BigIntStats): boolean {
    if (file.isBlockDevice() && this.#devices.has(numbersOf(file.rdev))) return true;
    return this.#files.some((one) => isSame(one, file));
  }

  async add(device: bigint): Promise<void> {
    const folder = await realpath(folderOf(device)).catch(() => undefined);
    if (folder !== undefined) await this.#addFolder(folder);
  }

  async #addFolder(folder: string): Promise<void> {
    const numbers = await readFile(join(folder, 'dev'), 'latin1').catch(() => '');
    this.#devices.add(numbers.trim());
    const file = await loopFile(folder);
    if (file) {
      this.#files.push(file);
      await this.add(deviceOf(file));
    }
    // A partition tells nothing more, its device does.
    const isPartition = (await readFile(join(folder, 'partition')).catch(() => undefined)) !== undefined;
    if (isPartition) await this.#addFolder(join(folder, '..'));
    // There are none where it is not made of others. The promises' own `readdir` ends Node 20 where permissions forbid it.
    for (const part of await promisify(readdir)(join(folder, 'slaves')).catch(() => [])) {
      await this.#addFolder(await realpath(join(folder, 'slaves', part)));
    }
  }
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
