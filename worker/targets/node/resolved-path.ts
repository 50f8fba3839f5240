// Resolves a path as the system does, so that a temporary file can be created beside its file. Names are bytes, since they may
// not be text.

import { type BigIntStats, fstat, realpathSync, statSync } from 'node:fs';
import { readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, resolve, sep } from 'node:path';
import { promisify } from 'node:util';
import { DecantError } from '../../errors/errors.js';
import type { OpenFile } from '../../messages/messages.js';

/** The limit of Linux. */
const MAX_LINKS = 40;
const SLASH = '/'.charCodeAt(0);

/** A name in a folder whose path has no links. */
export interface ResolvedPath {
  folder: Buffer;
  name: Buffer;
}

/** The error for a target that is a folder. */
export const folderGiven = (path: string): DecantError =>
  new DecantError('usage', `'${path}' is a folder; choose a file`);

export const pathIn = (folder: Buffer, name: Buffer): Buffer => Buffer.concat([folder, Buffer.from([SLASH]), name]);

/**
 * Makes `path` absolute, for a later change of the working directory. Links in it are kept. Synchronous: a caller may change the directory
 * next. Fails if another folder is at the directory's path.
 */
export function fromRoot(path: string): Buffer {
  if (isAbsolute(path)) return Buffer.from(path);
  if (sep !== '/') return Buffer.from(resolve(path));
  const real = realpathSync.native('.', 'buffer');
  if (!isSameInode(statSync('.', { bigint: true }), statSync(real, { bigint: true }))) throw unreachable(path);
  return pathIn(real, Buffer.from(path));
}

/**
 * Follows links one by one, each relative to its folder. The file need not exist, even as the target of a link. `given` is the
 * absolute path, if the working directory may have changed.
 */
export async function resolvePath(path: string, given: Buffer = fromRoot(path)): Promise<ResolvedPath> {
  if (sep !== '/') return findByLetters(path, given.toString());
  let at: Buffer = given;
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    const end = at.lastIndexOf(SLASH) + 1;
    const name = at.subarray(end);
    if (['', '.', '..'].includes(name.toString('latin1'))) {
      throw folderGiven(path);
    }
    const folder = await findFolder(at.subarray(0, end), path);
    const link = await readlink(pathIn(folder, name), 'buffer').catch(unlessNoLink);
    if (!link) return { folder, name };
    at = link[0] === SLASH ? link : pathIn(folder, link);
  }
  throw new DecantError('usage', `'${path}' is a circular link`);
}

/** The real path of `folder`. Fails if another folder is at that path, because of another mount or mount namespace. */
async function findFolder(folder: Buffer, path: string): Promise<Buffer> {
  const real = await realpath(folder, 'buffer');
  const [named, found] = [await stat(folder, { bigint: true }), await stat(real, { bigint: true })];
  if (isSameInode(named, found)) return real;
  throw unreachable(path);
}

const unreachable = (path: string): DecantError =>
  new DecantError('usage', `The folder of '${path}' cannot be reached by its real path; choose another folder`);

/** Windows: names are text, and `..` is resolved before links. */
async function findByLetters(path: string, given: string): Promise<ResolvedPath> {
  if (/[\\/]\.*$/.test(path)) throw folderGiven(path);
  const target = await realpath(given).catch(() => given);
  return { folder: Buffer.from(await realpath(dirname(target))), name: Buffer.from(basename(target)) };
}

function unlessNoLink(thrown: NodeJS.ErrnoException): undefined {
  if (thrown.code !== 'EINVAL' && thrown.code !== 'ENOENT') throw thrown;
}

/** The state of the open file `fd`. */
export const statsOf = (fd: number): Promise<BigIntStats> => promisify(fstat)(fd, { bigint: true });

/** Describes the open file `fd`, which has the path `path`. */
export const openFileOf = (fd: number, path: Buffer, { dev, ino }: BigIntStats): OpenFile => ({
  fd,
  path,
  device: dev,
  inode: ino,
});

/** Identifies a file while it exists. */
type Inode = Pick<BigIntStats, 'dev' | 'ino'>;

/** Whether two files are the same, seen through the same mount. False if one is missing. */
export const isSameInode = (a: Inode | undefined, b: Inode | undefined): boolean =>
  a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino;

/**
 * Whether two files are the same. The device numbers may differ if a file is visible through two mounts, such as a layer of an
 * overlay, or a network folder that is mounted twice. Then inode, size and times decide: only copies of a whole file system
 * have all of them in common too.
 */
export function isSame(a: BigIntStats, b: BigIntStats): boolean {
  // A device may have several nodes.
  if (a.isBlockDevice() && b.isBlockDevice()) return a.rdev === b.rdev;
  if (a.ino !== b.ino) return false;
  return a.dev === b.dev || (a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs);
}

/**
 * Whether `now` is the file `before` with the same content. A different ctime is accepted only if the mode, the owner or the
 * number of links has changed too.
 */
export function isUnwritten(before: BigIntStats, now: BigIntStats): boolean {
  const same = (...fields: (keyof BigIntStats)[]) => fields.every((field) => before[field] === now[field]);
  // The inode number of a deleted file may be reused, but with another birth time.
  return (
    same('dev', 'ino', 'birthtimeNs', 'size', 'mtimeNs') && (same('ctimeNs') || !same('mode', 'uid', 'gid', 'nlink'))
  );
}
