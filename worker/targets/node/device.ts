// The storage below block devices: other devices, and the files of loop devices.

import { type BigIntStats, readdir } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { folderOf, numbersOf } from '../../sources/node/node-file.js';
import type { OpenedSource } from '../../sources/opened-source.js';
import { isSame, statsOf } from './resolved-path.js';

/** The device of a file: itself if it is a device, otherwise the one that it is on. */
const deviceOf = (file: BigIntStats): bigint => (file.isBlockDevice() ? file.rdev : file.dev);

/** The files of `sources`, in order; undefined for a source that is not a file. */
export const sourceFiles = (sources: OpenedSource['spec'][]): Promise<(BigIntStats | undefined)[]> =>
  Promise.all(sources.map(async (spec) => ('file' in spec ? statsOf(spec.file.fd) : undefined)));

/** Whether `a` and `b` are the same, or one stores the content of the other: a change of one may change the other. */
export async function overlap(a: BigIntStats, b: BigIntStats): Promise<boolean> {
  return isSame(a, b) || (await below(a)).has(b) || (await below(b)).has(a);
}

/**
 * Finds everything that stores the content of a file or block device: the devices below it, including partitions and stacked
 * devices, the files of loop devices, and everything below those. Empty if the system does not report it.
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
    // A partition has no further entries, but its device has.
    const isPartition = (await readFile(join(folder, 'partition')).catch(() => undefined)) !== undefined;
    if (isPartition) await this.#addFolder(join(folder, '..'));
    // Not `readdir` of `fs/promises`: it crashes Node 20 if permissions forbid it.
    for (const part of await promisify(readdir)(join(folder, 'slaves')).catch(() => [])) {
      await this.#addFolder(await realpath(join(folder, 'slaves', part)));
    }
  }
}

/** The file of a loop device. It may be invisible, in a container for instance. */
async function loopFile(device: string): Promise<BigIntStats | undefined> {
  try {
    const line = await readFile(join(device, 'loop', 'backing_file'));
    return await stat(line.subarray(0, -1), { bigint: true });
  } catch {
    return undefined;
  }
}
