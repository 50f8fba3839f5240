// The file that a path stands for, found as the system finds it: a temporary file has to be made beside that one.
// Names are bytes here: a folder's may be no text.

import type { BigIntStats } from 'node:fs';
import { readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, resolve, sep } from 'node:path';
import { DecantError } from '../../errors/errors.js';

/** As Linux has it. */
const MAX_LINKS = 40;
const SLASH = '/'.charCodeAt(0);

/** A name in a folder that has no links in its path. */
export interface ResolvedPath {
  folder: Buffer;
  name: Buffer;
}

export const pathIn = (folder: Buffer, name: Buffer): Buffer => Buffer.concat([folder, Buffer.from([SLASH]), name]);

/** `path` from the root, whatever folder this process goes to later. Links in it stay. */
export async function fromRoot(path: string): Promise<Buffer> {
  if (isAbsolute(path)) return Buffer.from(path);
  if (sep !== '/') return Buffer.from(resolve(path));
  return pathIn(await realpath('.', 'buffer'), Buffer.from(path));
}

/**
 * Follows links one by one, each from the folder that it is in. The file need not exist, not even behind a link. `given`
 * is the path where it may have been given in another folder.
 */
export async function resolvePath(path: string, given: Buffer = Buffer.from(path)): Promise<ResolvedPath> {
  if (sep !== '/') return findByLetters(given.toString());
  let at: Buffer = given;
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    const end = at.lastIndexOf(SLASH) + 1;
    const name = at.subarray(end);
    if (['', '.', '..'].includes(name.toString('latin1'))) {
      throw new DecantError('usage', `'${path}' names a folder; name a file`);
    }
    const folder = await findFolder(end === 0 ? '.' : at.subarray(0, end), path);
    const link = await readlink(pathIn(folder, name), 'buffer').catch(unlessNoLink);
    if (!link) return { folder, name };
    at = link[0] === SLASH ? link : pathIn(folder, link);
  }
  throw new DecantError('usage', `'${path}' is a link in a circle`);
}

/** The real path of `folder`. Something else may lie under that: another mount, or another view of all of them. */
async function findFolder(folder: string | Buffer, path: string): Promise<Buffer> {
  const real = await realpath(folder, 'buffer');
  const [named, found] = [await stat(folder, { bigint: true }), await stat(real, { bigint: true })];
  if (named.dev === found.dev && named.ino === found.ino) return real;
  throw new DecantError('usage', `The folder of '${path}' cannot be reached by a path of its own; name another one`);
}

/** On Windows names are text, and `..` is resolved before links are. */
async function findByLetters(path: string): Promise<ResolvedPath> {
  if (/[\\/]\.*$/.test(path)) throw new DecantError('usage', `'${path}' names a folder; name a file`);
  const target = await realpath(path).catch(() => resolve(path));
  return { folder: Buffer.from(await realpath(dirname(target))), name: Buffer.from(basename(target)) };
}

function unlessNoLink(thrown: NodeJS.ErrnoException): undefined {
  if (thrown.code !== 'EINVAL' && thrown.code !== 'ENOENT') throw thrown;
}

/**
 * Whether two are one file. It may be seen through two mounts that each have a device number of their own, as a layer
 * of an overlay has, or a network folder that is mounted twice. Only copies of a whole file system have all of these in
 * common without being one.
 */
export function isSame(a: BigIntStats, b: BigIntStats): boolean {
  // A device may have several names that are no links.
  if (a.isBlockDevice() && b.isBlockDevice()) return a.rdev === b.rdev;
  if (a.ino !== b.ino) return false;
  return a.dev === b.dev || (a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs);
}

/**
 * Whether `now` is the file `before`, with the same content. The time of its last change of any kind is compared unless its
 * permissions, its owner or the number of its names account for that change.
 */
export function isUnwritten(before: BigIntStats, now: BigIntStats): boolean {
  const same = (...fields: (keyof BigIntStats)[]) => fields.every((field) => before[field] === now[field]);
  // The inode number of a deleted file is used again, but not with its time of birth.
  return (
    same('dev', 'ino', 'birthtimeNs', 'size', 'mtimeNs') && (same('ctimeNs') || !same('mode', 'uid', 'gid', 'nlink'))
  );
}
