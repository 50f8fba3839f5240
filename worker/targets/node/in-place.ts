// Opens a block device, or an existing file, to be written in place.

import { type BigIntStats, close, constants, open, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { promisify } from 'node:util';
import { DecantError } from '../../errors/errors.js';
import type { OpenFile } from '../../messages/messages.js';
import type { Notice } from '../../public/types.js';
import { deviceSize } from '../../sources/node/node-file.js';
import type { Sizes } from '../output-target.js';
import { isUnwritten, openFileOf, pathIn, type ResolvedPath, statsOf } from './resolved-path.js';

const { O_EXCL, O_RDWR, O_WRONLY } = constants;
const O_WRITES = O_RDWR | O_WRONLY;

/** An output that is written in place, before the first write. */
export interface OpenedInPlace {
  file: OpenFile;
  stats: BigIntStats;
  notices: Notice[];
}

/**
 * Opens the file `there` at `location`, which errors call `path`; for reading, too, if it is `readBack`. Fails with `usage` if the output
 * does not fit, would not be found, or is open in a program that may write to it, and with `target` if the file was replaced.
 */
export async function openInPlace(
  path: string,
  { folder, name }: ResolvedPath,
  there: BigIntStats,
  sizes: Sizes,
  readBack: boolean,
): Promise<OpenedInPlace> {
  const isDevice = there.isBlockDevice();
  const notices = await requireRoom(path, there, sizes);
  const absolute = pathIn(folder, name);
  // For a device, O_EXCL fails if it is mounted.
  const fd = await promisify(open)(absolute, (readBack ? O_RDWR : O_WRONLY) | (isDevice ? O_EXCL : 0));
  try {
    const stats = await statsOf(fd);
    const isSameOne = isDevice ? stats.isBlockDevice() && stats.rdev === there.rdev : isUnwritten(there, stats);
    if (!isSameOne) throw new DecantError('target', `'${path}' was replaced while it was opened; try again`);
    // After it was opened: of two conversions that begin at once, at least one finds the other.
    if (!isDevice && mayBeWritten(absolute)) {
      const message = `Another program has '${path}' open for writing; wait until it has ended, or choose another output`;
      throw new DecantError('usage', message, { code: 'output-in-use' });
    }
    return { file: openFileOf(fd, absolute, stats), stats, notices };
  } catch (thrown) {
    // Nothing was written: a failure to close loses nothing.
    await promisify(close)(fd).catch(() => {});
    throw thrown;
  }
}

/** Whether another process has the file `path`, whose folder has no links, open for writing. Linux says so of the user's processes. */
function mayBeWritten(path: Buffer): boolean {
  const others = list('/proc').filter((id) => /^\d+$/.test(id) && Number(id) !== process.pid);
  return others.some((id) => list(`/proc/${id}/fd`).some((fd) => isOpenToWrite(id, fd, path)));
}

function isOpenToWrite(id: string, fd: string, path: Buffer): boolean {
  try {
    if (!readlinkSync(`/proc/${id}/fd/${fd}`, 'buffer').equals(path)) return false;
    const [, flags = '0'] = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/${id}/fdinfo/${fd}`, 'latin1')) ?? [];
    return (Number.parseInt(flags, 8) & O_WRITES) !== 0;
  } catch {
    // The process has ended, or has closed the file.
    return false;
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Fails with `usage` unless the output fits into the file `there`, and readers find it there. Resolves to what they may miss. */
async function requireRoom(
  path: string,
  there: BigIntStats,
  { outputSize: size, hasFooter }: Sizes,
): Promise<Notice[]> {
  const isDevice = there.isBlockDevice();
  if (size === undefined) {
    const reason = 'it is known only at the end of this conversion';
    const message = `'${path}' is written in place, so the size of the output must be known: ${reason}; write a new file instead`;
    throw new DecantError('usage', message, { code: 'size-needed' });
  }
  const room = isDevice ? await deviceSize(there.rdev) : Number(there.size);
  const fields = { room, size };
  const holds = `'${path}' holds ${room} bytes, but the output has ${size}`;
  if (room < size) {
    const message = `${holds}; choose a larger ${isDevice ? 'device' : 'file'}`;
    throw new DecantError('usage', message, { code: 'target-too-small', fields });
  }
  if (!hasFooter || room === size) return [];
  const problem = `${holds}: readers will not find its footer at the end of the ${isDevice ? 'device' : 'file'}`;
  // The size of a device is fixed.
  if (isDevice) return [{ code: 'footer-inside', fields, message: problem }];
  const message = `${problem}; truncate it to ${size} bytes first, or write a new file`;
  throw new DecantError('usage', message, { code: 'target-too-large', fields });
}
