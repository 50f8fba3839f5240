// Files that belong to an image by their names: the other parts of a split file.

import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { localPath } from '../api/node-path.js';
import { mayBeSplit, splitFiles } from '../api/split.js';
import { isAddress } from '../errors/secrets.js';

/** The names of the files in `folder`. Opening a file reports why the folder cannot be read. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
}

/** Returns the paths of the files that belong to `image`, an argument of the command; not those with one of the names `given`. */
export async function filesBeside(image: string, given: string[]): Promise<string[]> {
  if (isAddress(image)) return [];
  const path = localPath(image);
  const [folder, name] = [dirname(path), basename(path)];
  const isGiven = (other: string) => other === name || given.includes(other);
  // A name that ends in two letters is common.
  if (!mayBeSplit([name]) && !existsSync(`${path.slice(0, -2)}aa`)) return [];
  const names = [name, ...(await filesIn(folder)).filter((other) => !isGiven(other))];
  const parts = (await splitFiles(names)).find((parts) => parts.includes(0)) ?? [];
  return parts.filter((at) => at > 0).map((at) => join(folder, names[at]!));
}
