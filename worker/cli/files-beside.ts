// Files that belong to an image by their names or folder: the other parts of a split file, and the disks of a machine.

import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { localPath } from '../api/node-path.js';
import { mayBeSplit, splitFiles } from '../api/split.js';
import { isAddress } from '../errors/secrets.js';

/** Names of configurations of virtual machines. */
const MACHINE = /\.(vmx|vbox|ovf)$/i;
/** Names of files that may be disks of a machine, or their manifest. */
const DISK_OR_MANIFEST = /\.(a?vhdx?|dd|gz|hdd|img|mf|qcow2?|qed|raw|vdi|vmdk)$/i;
/** Where VirtualBox puts the disks of snapshots, beside the configuration. */
const SNAPSHOTS = 'Snapshots';

/** The names of the files in `folder`. Opening a file reports why the folder cannot be read. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
}

/** If `image` is a folder with one configuration of a machine, its path; otherwise `image`. */
export async function machineIn(image: string): Promise<string> {
  if (isAddress(image)) return image;
  const path = localPath(image);
  const stats = await stat(path).catch(() => undefined);
  if (!stats?.isDirectory()) return image;
  const [found, ...others] = (await filesIn(path)).filter((name) => MACHINE.test(name));
  return found === undefined || others.length > 0 ? image : join(path, found);
}

/** Returns the paths of the files that belong to `image`, an argument of the command; not those with one of the names `given`. */
export async function filesBeside(image: string, given: string[]): Promise<string[]> {
  if (isAddress(image)) return [];
  const path = localPath(image);
  const [folder, name] = [dirname(path), basename(path)];
  const isGiven = (other: string) => other === name || given.includes(other);
  if (MACHINE.test(name)) {
    const folders = [folder, join(folder, SNAPSHOTS)];
    const found = await Promise.all(
      folders.map(async (folder) => (await filesIn(folder)).map((name) => join(folder, name))),
    );
    return found.flat().filter((file) => DISK_OR_MANIFEST.test(file) && !isGiven(basename(file)));
  }
  // A name that ends in two letters is common.
  if (!mayBeSplit([name]) && !existsSync(`${path.slice(0, -2)}aa`)) return [];
  const names = [name, ...(await filesIn(folder)).filter((other) => !isGiven(other))];
  const parts = (await splitFiles(names)).find((parts) => parts.includes(0)) ?? [];
  return parts.filter((at) => at > 0).map((at) => join(folder, names[at]!));
}
