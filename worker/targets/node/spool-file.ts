// Node: the temporary file of a spooled output, in a folder. Its name is that of a partial file: if its process is killed, the
// next conversion to the folder removes it.

import { type BigIntStats, close, constants, existsSync, fstat, open, read } from 'node:fs';
import { lstat, realpath, stat, statfs, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { DecantError } from '../../errors/errors.js';
import { fileError, fileReason } from '../../errors/file-error.js';
import type { TargetSpec } from '../../messages/messages.js';
import type { OpenedSource } from '../../sources/opened-source.js';
import { type ReadSpool, requireSize, type Sizes, type Spool } from '../output-target.js';
import { below, sourceFiles } from './device.js';
import { partialName, sweepFolder } from './partial.js';
import { isSameInode, openFileOf, pathIn, statsOf } from './resolved-path.js';

const { O_CREAT, O_EXCL, O_RDWR } = constants;
const OWNER_ONLY = 0o600;
/** The start of the file's name. */
const NAME = Buffer.from('decant-spool');
/** For large files; `/tmp` is often in memory. */
const LARGE = '/var/tmp';

/** The default folder: `TMPDIR`, otherwise `/var/tmp`, or the system's folder for temporary files. */
export const spoolFolder = (): string => (!process.env.TMPDIR && existsSync(LARGE) ? LARGE : tmpdir());

const FREE_SPACE = 'free some space, ';
const TOO_LARGE = 'its file system, or a limit, does not allow files of this size';
const MOVED = 'it, or its folder, was moved';

interface CreatedFile {
  fd: number;
  path: Buffer;
  made: BigIntStats;
}

interface SpoolFileOptions {
  folder: string;
  /** The sources of the image: the file must not be written to a device that is one of them. */
  sources: OpenedSource['spec'][];
  /** Whether holes are written as zeros. */
  dense: boolean;
  /** The advice if the file cannot be made, as the end of a sentence. */
  otherwise: string;
}

export class SpoolFile implements Spool {
  #file: CreatedFile | undefined;
  #size: number | undefined;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: SpoolFileOptions) {}

  async prepare({ outputSize }: Sizes): Promise<Extract<TargetSpec, { file: unknown }>> {
    this.#size = outputSize;
    const { folder: given, sources, dense } = this.options;
    try {
      const folder = await realpath(given, 'buffer');
      await this.#requireNoSource(folder, await sourceFiles(sources));
      const location = { folder, name: NAME };
      const path = pathIn(folder, partialName(location));
      const fd = await promisify(open)(path, O_CREAT | O_EXCL | O_RDWR, OWNER_ONLY);
      const made = await statsOf(fd);
      this.#file = { fd, path, made };
      // Leftovers may take up the room.
      await sweepFolder(location, made.mtimeNs, undefined, false);
      if (outputSize !== undefined) await this.#requireRoom(folder, outputSize);
      const file = openFileOf(fd, path, made);
      // Otherwise a write that fails late would be read back as zeros.
      return { file, name: path.toString(), inPlace: false, dense, sync: true };
    } catch (thrown) {
      throw fileError(thrown, 'target', `write a temporary file in '${given}'`);
    }
  }

  async whole(size: number): Promise<ReadSpool> {
    const { fd } = await this.#whole(size);
    return (offset, length) => {
      const reading = this.#read(fd, offset, length);
      this.#reading = reading;
      return reading;
    };
  }

  async source(size: number): Promise<OpenedSource> {
    const { fd, path, made } = await this.#whole(size);
    return {
      spec: { file: openFileOf(fd, path, made), size },
      identity: this,
      name: undefined,
      size,
      verify: async () => {},
      // A file that stays is removed by the next conversion to the folder.
      close: () => this.remove().catch(() => {}),
    };
  }

  full(reason: DecantError): DecantError {
    if (reason.code === 'file-too-large') return this.#full(TOO_LARGE, { cause: reason });
    return this.#full('the disk is full, or the quota is used up', { advice: FREE_SPACE, cause: reason });
  }

  async remove(): Promise<void> {
    const file = this.#file;
    if (!file) return;
    this.#file = undefined;
    // The number of a closed descriptor may be reused. The reader has got the failure.
    await this.#reading.catch(() => {});
    const isGone = await promisify(fstat)(file.fd).then(
      ({ nlink }) => nlink === 0,
      () => false,
    );
    // Its content is not needed any more, whatever the system answers.
    await promisify(close)(file.fd).catch(() => {});
    if (isGone) return;
    await unlinkSame(file).catch((cause) => {
      const reason = cause.code === 'ENOENT' ? MOVED : fileReason(cause);
      const message = `the temporary file '${file.path}' could not be removed: ${reason}`;
      throw new DecantError('target', message, { code: 'spool-left', fields: { file: file.path.toString() }, cause });
    });
  }

  /** Resolves to the finished file. Fails unless it has `size` bytes. */
  async #whole(size: number): Promise<CreatedFile> {
    const file = this.#file!;
    const { size: found } = await promisify(fstat)(file.fd);
    requireSize(found, size, 'the temporary file');
    return file;
  }

  async #requireNoSource(folder: Buffer, sources: (BigIntStats | undefined)[]): Promise<void> {
    const devices = await below(await stat(folder, { bigint: true }));
    if (!sources.some((source) => source && devices.has(source))) return;
    throw new DecantError(
      'usage',
      `The folder '${this.options.folder}' is on a device that is read for the image; choose another folder`,
    );
  }

  /** Fails if the whole output, holes included, has no room. */
  async #requireRoom(folder: Buffer, size: number): Promise<void> {
    // Not every file system reports it.
    const stats = await statfs(folder).catch(() => undefined);
    const free = stats ? stats.bavail * stats.bsize : size;
    if (free < size) throw this.#full(`it takes ${size} bytes, and ${free} are free`, { advice: FREE_SPACE, free });
  }

  #full(
    reason: string,
    { advice = '', free, cause }: { advice?: string; free?: number; cause?: DecantError },
  ): DecantError {
    const { folder, otherwise } = this.options;
    const message = `The temporary file has no room in '${folder}': ${reason}; ${advice}choose another folder (spool, --spool=DIR), or ${otherwise}`;
    const sizes = {
      ...(this.#size === undefined ? {} : { size: this.#size }),
      ...(free === undefined ? {} : { free }),
    };
    return new DecantError('target', message, { code: 'spool-full', fields: { folder, ...sizes }, cause });
  }

  async #read(fd: number, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(length);
    try {
      for (let at = 0; at < length; ) {
        const { bytesRead } = await promisify(read)(fd, bytes, at, length - at, offset + at);
        if (bytesRead === 0) throw new Error('it was truncated');
        at += bytesRead;
      }
    } catch (thrown) {
      throw fileError(thrown, 'target', 'read the temporary file');
    }
    return bytes;
  }
}

/** Unlinks the file. Fails if another one has its name. */
async function unlinkSame({ path, made }: CreatedFile): Promise<void> {
  if (!isSameInode(await lstat(path, { bigint: true }), made)) throw new Error(MOVED);
  await unlink(path);
}
