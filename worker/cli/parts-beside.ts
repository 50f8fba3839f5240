// The other parts of a split file in the folder of an image.

import { basename, dirname, join } from 'node:path';
import { localPath } from '../api/node-path.js';
import { isAddress } from '../errors/secrets.js';
import { splitFiles } from '../node.js';
import { filesIn, MACHINE } from './files-beside.js';

/**
 * Returns the paths of the other parts if `image`, an argument of the command, is a part of a split file by its name; not those with one of
 * the names `given`.
 */
export async function partsBeside(image: string, given: string[]): Promise<string[]> {
  if (isAddress(image)) return [];
  const path = localPath(image);
  const [folder, name] = [dirname(path), basename(path)];
  if (MACHINE.test(name)) return [];
  const names = [name, ...(await filesIn(folder)).filter((other) => other !== name && !given.includes(other))];
  const parts = (await splitFiles(names)).find((parts) => parts.includes(0)) ?? [];
  return parts.filter((at) => at > 0).map((at) => join(folder, names[at]!));
}
