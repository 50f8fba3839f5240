// The owner and the permissions of a file that replaces another one.

import { type BigIntStats, chmod, fchmod, fchown, lchown } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { isSameInode } from './resolved-path.js';

/** Without the set-id bits: an image's bytes must not become a set-id program. */
const PERMISSIONS = 0o777;
/** Node's permission model forbids operations on descriptors, and allows the same ones on paths. */
const DENIED = 'ERR_ACCESS_DENIED';
/** Codes of operations that the file system does not support, or that this user may not do. */
const CANNOT = ['EPERM', 'EACCES', 'EINVAL', 'EISDIR', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', DENIED];

/** An open file, and the path at which it was created. */
export interface MadeFile {
  fd: number;
  path: Buffer;
  stats: BigIntStats;
}

/** Sets the permissions of `file`. */
export const setMode = (file: MadeFile, mode: number): Promise<void> =>
  byPathIfDenied(file, promisify(fchmod)(file.fd, mode), () => promisify(chmod)(file.path, mode));

/**
 * Copies owner and mode as far as the system allows, without giving anybody more access than before. Access control lists are
 * not visible here: with one, the group's mode bits are the maximum of the list.
 */
export async function keepOwnerAndMode(file: MadeFile, { uid, gid, mode }: BigIntStats): Promise<void> {
  const setOwner = (owner: number) =>
    byPathIfDenied(file, promisify(fchown)(file.fd, owner, Number(gid)), () =>
      promisify(lchown)(file.path, owner, Number(gid)),
    );
  const keeps = (owner: number) =>
    setOwner(owner).then(
      () => true,
      (thrown) => refused(thrown),
    );
  // The owner first: a change of owner clears the set-id bits, and the old group's permissions are not for a new group.
  const hasGroup = (await keeps(Number(uid))) || (await keeps(-1));
  const permissions = Number(mode) & PERMISSIONS;
  const others = permissions & 0o7;
  const kept = hasGroup ? permissions : permissions & ((0o7 << 6) | (others << 3) | others);
  await setMode(file, kept).catch(refused);
}

/** Resolves as `change` does, or as `byPath` if Node forbids `change` and the file is still at its path. */
async function byPathIfDenied(file: MadeFile, change: Promise<void>, byPath: () => Promise<void>): Promise<void> {
  try {
    await change;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== DENIED) throw thrown;
    if (!isSameInode(await lstat(file.path, { bigint: true }), file.stats)) throw thrown;
    await byPath();
  }
}

/** Returns false if the system refused the operation, and rethrows any other failure. */
export function refused(thrown: NodeJS.ErrnoException): false {
  if (!CANNOT.includes(thrown.code ?? '')) throw thrown;
  return false;
}
