// Files, block devices and named pipes in Node as images.

import { type BigIntStats, close, constants, fstat, open, read, stat } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DecantError } from '../../errors/errors.js';
import { fileError } from '../../errors/file-error.js';
import { isObject } from '../../errors/values.js';
import type { ByteRange } from '../../http/ranges.js';
import { loadCustomSources } from '../inputs.js';
import type { OpenedSource } from '../opened-source.js';
import { fromPipe } from './node-stream.js';

const AS_STREAM = 'pass it as a stream (on the command line: - as the image, and its content as standard input)';

/** `fs.promises.stat` is not used: without permission to read, in Node 20, it also rejects a promise that is never handled. */
const statOf = promisify(stat);

/** The files that are open as sources, by their descriptors. */
const openFiles = new Map<number, BigIntStats>();

/** The files that this process reads: no leftover among them is removed. */
export const filesBeingRead = (): BigIntStats[] => [...openFiles.values()];

/** An open file, as `fs.promises.open` returns it. */
interface Handle {
  readonly fd: number;
}

export const isHandle = (value: unknown): value is Handle =>
  isObject(value) && 'fd' in value && typeof value.fd === 'number' && 'readFile' in value;

/** Opens a file or a block device; a named pipe as a stream. */
export async function openPath(path: string): Promise<OpenedSource> {
  // Files are opened without blocking; a pipe without a writer would look empty then. Opening reports a missing file.
  const isPipe = (await statOf(path).catch(() => undefined))?.isFIFO();
  if (isPipe) return { ...(await openPipe(path)), name: path };
  return openFile(path, path);
}

async function openPipe(path: string): Promise<OpenedSource> {
  const { openStream } = await loadCustomSources();
  return openStream(fromPipe(path));
}

/** Opens the file of a handle again: the caller may close it, and its number may be reused for another file. */
export async function openHandle({ fd }: Handle): Promise<OpenedSource> {
  const path = `/dev/fd/${fd}`;
  const there = await statOf(path).catch(() => undefined);
  if (!there || fd < 0) {
    throw new DecantError('usage', 'This file handle cannot be opened again; pass the path of its file', {
      code: 'handle-unusable',
    });
  }
  if (there.isFIFO()) return openPipe(path);
  return { ...(await openFile(path, 'the file of the handle')), name: undefined };
}

/** Opens a file or a block device. `shown` is its name in messages. */
async function openFile(path: string, shown: string): Promise<OpenedSource> {
  const quoted = shown === path ? `'${path}'` : shown;
  let fd: number | undefined;
  try {
    // Without blocking: a pipe may be there by now.
    fd = await promisify(open)(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const opened = fd;
    const about = () => promisify(fstat)(opened, { bigint: true });
    const stats = await about();
    if (stats.isBlockDevice()) return await openDevice(opened, stats, path, shown, quoted);
    requireFile(stats, quoted);
    const { size, mtimeNs, ctimeNs, dev, ino } = stats;
    if (await isUnsized(fd, size)) {
      const message = `${quoted} has content, but its size is 0, as that of files in /proc; ${AS_STREAM}`;
      throw new DecantError('usage', message, { code: 'not-a-file' });
    }
    // A deleted file has no path.
    const real = await realpath(path).catch(() => undefined);
    openFiles.set(opened, stats);
    return {
      spec: { file: { fd, path, device: dev, inode: ino }, size: Number(size) },
      identity: `${dev}:${ino}`,
      // Omits the device number, which may change at a restart. Includes ctime, which programs cannot set.
      ...(real === undefined ? {} : { state: JSON.stringify([real, `${ino}:${size}:${mtimeNs}:${ctimeNs}`]) }),
      name: path,
      size: Number(size),
      peek: (ranges) => Promise.all(ranges.map((range) => peek(opened, range))),
      async verify() {
        const now = await about();
        if (now.size !== size || now.mtimeNs !== mtimeNs) throw changed(quoted, shown);
      },
      close() {
        openFiles.delete(opened);
        return promisify(close)(opened);
      },
    };
  } catch (thrown) {
    if (fd !== undefined) await promisify(close)(fd);
    throw fileError(thrown, 'source', `open ${quoted}`);
  }
}

/** Opens the device that is open as `fd`. Devices have no modification time, and so no state. */
async function openDevice(
  fd: number,
  stats: BigIntStats,
  path: string,
  shown: string,
  quoted: string,
): Promise<OpenedSource> {
  const { rdev, dev, ino } = stats;
  const size = await deviceSize(rdev).catch((cause) => {
    const message = `${quoted} is a block device, whose size this system does not report; ${AS_STREAM}`;
    throw new DecantError('usage', message, { code: 'not-a-file', cause });
  });
  return {
    spec: { file: { fd, path, device: dev, inode: ino }, size },
    identity: `block:${rdev}`,
    name: path,
    size,
    unnoticed: `${quoted} is a block device, which has no modification time, so a change may go unnoticed`,
    peek: (ranges) => Promise.all(ranges.map((range) => peek(fd, range))),
    async verify() {
      const now = await deviceSize(rdev).catch(() => undefined);
      if (now !== size) throw changed(quoted, shown);
    },
    close: () => promisify(close)(fd),
  };
}

/** Whether the file that is open as `fd` has content although its `size` is 0. */
export const isUnsized = async (fd: number, size: bigint | number): Promise<boolean> =>
  Number(size) === 0 && (await peek(fd, { start: 0, end: 1 })).length > 0;

async function peek(fd: number, { start, end }: ByteRange): Promise<Uint8Array> {
  const bytes = new Uint8Array(end - start);
  const { bytesRead } = await promisify(read)(fd, bytes, 0, bytes.length, start);
  return bytes.subarray(0, bytesRead);
}

function changed(quoted: string, file: string): DecantError {
  const message = `${quoted} was changed while it was read; convert it while nothing writes to it`;
  return new DecantError('source', message, { code: 'source-changed', fields: { file } });
}

function requireFile(stats: BigIntStats, shown: string): void {
  if (stats.isFile()) return;
  const message = stats.isDirectory()
    ? `${shown} is a folder, not an image`
    : `${shown} is neither a file, a block device nor a pipe; ${AS_STREAM}`;
  throw new DecantError('usage', message, { code: 'not-a-file' });
}

/** The unit of the file `size` in bytes, for all devices. */
const SECTOR = 512;

/** MAJOR:MINOR of a device, as glibc's `gnu_dev_major` and `gnu_dev_minor` split its number. */
export function numbersOf(device: bigint): string {
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn);
  const minor = (device & 0xffn) | ((device >> 12n) & ~0xffn);
  return `${major}:${minor}`;
}

export const folderOf = (device: bigint): string => `/sys/dev/block/${numbersOf(device)}`;

/** The size of a block device, in bytes. */
export async function deviceSize(device: bigint): Promise<number> {
  return Number(await readFile(join(folderOf(device), 'size'), 'utf8')) * SECTOR;
}
