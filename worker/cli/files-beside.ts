// Files in the folder of an image that belong to it: the configuration and the disks of a machine.

import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { localPath } from '../api/node-path.js';
import { DecantError } from '../errors/errors.js';
import { isAddress } from '../errors/secrets.js';
import { shownNames, shownText } from '../errors/shown.js';
import { FOLDER_FILES } from '../public/registry.js';
import { endingIn, IMAGES, MACHINES } from './formats.js';
import { type NamedFile, statsOf } from './operands.js';

/** Names of configurations of virtual machines, and of descriptions of disks. */
export const MACHINE = endingIn([...MACHINES, ...FOLDER_FILES]);
/** Names of files that may be disks of a machine (with gzip in OVF), their manifest, or the list of its snapshots. */
const OF_MACHINE = endingIn([...IMAGES, '.gz', '.mf', '.vmsd']);
/** The ends of the names of pieces that OVF divides a disk into. */
const PIECE = /\.\d{9}$/;
/** Where VirtualBox puts the disks of snapshots, beside the configuration. */
const SNAPSHOTS = 'Snapshots';
/** The prefix of the files that macOS adds on foreign file systems. */
const OF_MACOS = /^\._/;
/** The most configurations in an error message. */
const LISTED = 5;

/** Whether `image`, an argument of the command, is the configuration of a machine by its name, or a folder. */
export const isMachine = async (image: string): Promise<boolean> =>
  MACHINE.test(image) || (await isFolder(localPath(image)));

const isFolder = async (path: string): Promise<boolean> => (await statsOf(path))?.isDirectory() ?? false;

/** The names of the files in `folder`. Opening a file reports why the folder cannot be read. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
}

/** The paths of the regular files in `folder`, and of links to such, whose names match one of `patterns`. */
async function regularFiles(folder: string, ...patterns: RegExp[]): Promise<string[]> {
  const names = (await filesIn(folder)).filter(
    (name) => patterns.some((pattern) => pattern.test(name)) && !OF_MACOS.test(name),
  );
  const paths = names.map((name) => join(folder, name));
  // A link to a missing file does not count.
  const stats = await Promise.all(paths.map(statsOf));
  return paths.filter((_, at) => stats[at]?.isFile());
}

/**
 * If `image` is a folder with the configuration of a machine, its path; otherwise `image`. Fails with `usage` if there are
 * several.
 */
export async function machineIn(image: string): Promise<string> {
  if (isAddress(image)) return image;
  const path = localPath(image);
  if (!(await isFolder(path))) return image;
  const found = (await regularFiles(path, MACHINE)).sort();
  if (found.length < 2) return found[0] ?? image;
  const names = found.map((file) => basename(file));
  throw severalMachines(image, names, 'state one');
}

/** The error for `image`, which contains several `configurations` where one is needed. */
export function severalMachines(image: string, configurations: string[], advice: string): DecantError {
  const names = shownNames(configurations, LISTED);
  const message = `'${shownText(image)}' contains the configurations of several virtual machines: ${names}; ${advice}`;
  return new DecantError('usage', message);
}

/**
 * Returns the paths of the files that may belong to a machine, if `image`, an argument of the command, is its configuration; not those that
 * are `given`, or for whose name a file is given. A given file without a name replaces none: a parent often has the name of its child.
 */
export async function filesBeside(image: string, given: readonly NamedFile[]): Promise<string[]> {
  if (isAddress(image)) return [];
  const path = localPath(image);
  const [folder, name] = [dirname(path), basename(path)];
  if (!MACHINE.test(name)) return [];
  const folders = [folder, join(folder, SNAPSHOTS)];
  const found = await Promise.all(folders.map((folder) => regularFiles(folder, OF_MACHINE, PIECE)));
  const isGiven = (path: string) =>
    given.some(({ name, file }) =>
      name === undefined ? resolve(file) === resolve(path) : basename(name) === basename(path),
    );
  return found.flat().filter((file) => basename(file) !== name && !isGiven(file));
}
