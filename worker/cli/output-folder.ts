// A folder as the output: the disks of an image become files in it.

import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileError } from '../errors/file-error.js';
import { isHttp } from '../http/address.js';
import { folderGiven } from '../targets/node/resolved-path.js';
import type { ConvertCommand } from './command-output.js';
import { ALL_DISKS } from './disk-list.js';
import { STANDARD_OUTPUT } from './standard-output.js';

/** Whether `output` is a folder: an existing one, or a path that ends in a slash. */
export async function isFolder(output: string): Promise<boolean> {
  if (output === STANDARD_OUTPUT || isHttp(output)) return false;
  // A path that cannot be examined fails with its reason when the output is opened.
  const stats = await stat(output).catch(() => undefined);
  return stats ? stats.isDirectory() : /\/$/.test(output);
}

/** Formats of which one file holds several disks. */
const ARCHIVES: unknown[] = ['tar', 'zip'];

/** Fails with `usage` if the output is a folder, and only one disk can be converted. `format`: that of the image, if known. */
export async function requireFileForOne({ opening, output }: ConvertCommand, format?: unknown): Promise<void> {
  const { disk } = opening;
  const isOne = disk === undefined ? format !== undefined && !ARCHIVES.includes(format) : disk !== ALL_DISKS;
  if (isOne && (await isFolder(output))) throw folderGiven(output);
}

/**
 * Fails with `target` if files cannot be made in `folder`, or in the closest existing folder around it, and with `usage` if there is
 * a file in its place.
 */
export async function requireWritableFolder(folder: string): Promise<void> {
  // A path that cannot be examined fails below, with its reason.
  if ((await stat(resolve(folder)).catch(() => undefined))?.isFile()) throw folderGiven(folder);
  for (let at = resolve(folder); ; at = dirname(at)) {
    try {
      // With a slash it fails for a file.
      return await access(join(at, '/'), constants.W_OK | constants.X_OK);
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code !== 'ENOENT' || at === dirname(at)) throw fileError(thrown, 'target', `write to '${folder}'`);
    }
  }
}
