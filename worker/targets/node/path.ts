// A path in Node: a temporary file beside the target, renamed over it at the end. A block device is written in place, and
// a file where that is asked for.

import { type BigIntStats, close, constants, fchmod, fchown, fstat, fsync, lstatSync, open, renameSync } from 'node:fs';
import { access, link, lstat, stat, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { DecantError } from '../../errors/errors.js';
import { fileError, fileReason } from '../../errors/file-error.js';
import type { OpenFile, TargetSpec } from '../../messages/messages.js';
import type { Kept, Notice } from '../../public/types.js';
import { deviceSize } from '../../sources/node/block-device.js';
import type { OpenedSource } from '../../sources/opened-source.js';
import { keptError, type OutputTarget, type ResumePoint, requireSize, type Sizes } from '../output-target.js';
import { below, overlap } from './device.js';
import { Journal } from './journal.js';
import { partialName, sweepFolder } from './partial.js';
import { fromRoot, isUnwritten, pathIn, type ResolvedPath, resolvePath } from './resolved-path.js';
import { keptFor, releaseForResume, takeOver } from './resumable.js';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_RDONLY, O_RDWR, O_WRONLY } = constants;
/** What a new file may be, as far as the umask lets it. */
const ANYONE = 0o666;
const OWNER_ONLY = 0o600;
/** Whoever runs this is to get no set-id file with an image's bytes. */
const PERMISSIONS = 0o777;
/** What says that a file system has no such thing, or that it is not this user's to do. */
const CANNOT = ['EPERM', 'EACCES', 'EINVAL', 'EISDIR', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'];

const about = (fd: number) => promisify(fstat)(fd, { bigint: true });
const find = (path: string | Buffer) => stat(path, { bigint: true }).catch(unlessMissing);

const openFile = (fd: number, path: Buffer, { dev, ino }: BigIntStats): OpenFile => ({
  fd,
  path,
  device: dev,
  inode: ino,
});

/** See `ConvertOptions` in Node. */
export interface PathOptions {
  sync?: boolean | undefined;
  sparse?: boolean | undefined;
  existing?: boolean | undefined;
}

export class PathTarget implements OutputTarget {
  readonly resumes = true;
  readonly notices: Notice[] = [];
  resumePoint: ResumePoint | undefined;
  /** What is certain in the temporary file, where a later conversion may go on with it. */
  #journal: Journal | undefined;
  #place: ResolvedPath | undefined;
  /** The path from the root: this process may go to another folder. */
  #given: Buffer | undefined;
  #fd: number | undefined;
  /** What is written until the rename; undefined for what is written in place. */
  #temporary: Buffer | undefined;
  /** The same as the system knows it, whatever has its name by now. */
  #made: BigIntStats | undefined;
  /** What was there at the start, and may be replaced. */
  #existing: BigIntStats | undefined;

  constructor(
    private readonly path: string,
    private readonly sources: OpenedSource['spec'][],
    private readonly options: PathOptions = {},
  ) {}

  async prepare(sizes: Sizes, _signal: AbortSignal, identity?: string): Promise<TargetSpec> {
    try {
      const place = await resolvePath(this.path);
      this.#given = await fromRoot(this.path);
      this.#place = place;
      const existing = await this.#examine(place);
      this.#existing = existing;
      if (this.options.existing && !existing) {
        throw new DecantError('usage', `'${this.path}' is not there, so nothing can be written into it`);
      }
      if (!this.options.existing && !existing?.isBlockDevice()) return await this.#openFile(place, existing, identity);
      if (identity === undefined) return await this.#openInPlace(place, existing!, sizes);
      throw new DecantError('usage', `'${this.path}' is written in place, where a conversion cannot be resumed`);
    } catch (thrown) {
      throw fileError(thrown, 'target', `write '${this.path}'`);
    }
  }

  async commit(size: number): Promise<void> {
    try {
      if (this.#temporary) await this.#replace(this.#place!, this.#temporary, size);
      else {
        // The links to a device may be made anew once it is written.
        if (!this.#existing?.isBlockDevice()) await this.#requireSamePlace(this.#place!);
        await this.#close();
      }
    } catch (thrown) {
      throw fileError(thrown, 'target', `write '${this.path}'`);
    }
  }

  settled(resumePoint: ResumePoint): void {
    this.#journal?.settled(resumePoint);
  }

  async discard({ kind }: DecantError, keep: boolean): Promise<void> {
    const journal = this.#journal;
    this.#journal = undefined;
    if (journal && keep) {
      // What a system has failed to write it does not tell again: nothing more is certain then.
      await journal.keep(kind !== 'target');
      if (journal.hasAny && (await releaseForResume(this.#place!, this.#temporary!, this.#made!))) {
        await this.#close();
        throw keptError();
      }
    }
    await journal?.remove().catch(() => {});
    const temporary = this.#temporary;
    this.#temporary = undefined;
    // Some file systems number a file anew once nobody has it open.
    const isOurs = temporary !== undefined && (await this.#isOurs(temporary).catch(() => false));
    await this.#close();
    if (!isOurs) return;
    await unlink(temporary)
      .catch(unlessMissing)
      .catch((cause) => {
        throw new DecantError('target', notRemoved(temporary, cause), { cause });
      });
  }

  async kept(identity: string): Promise<Kept> {
    try {
      return await keptFor(await resolvePath(this.path), identity);
    } catch (thrown) {
      throw fileError(thrown, 'target', `look at '${this.path}'`);
    }
  }

  /** Whether nobody has removed or replaced the temporary file. */
  async #isOurs(temporary: Buffer): Promise<boolean> {
    const there = await lstat(temporary, { bigint: true }).catch(unlessMissing);
    return there !== undefined && there.dev === this.#made?.dev && there.ino === this.#made?.ino;
  }

  /** The files that are read, in their order; undefined for what is no file. */
  async #sourceFiles(): Promise<(BigIntStats | undefined)[]> {
    return Promise.all(this.sources.map(async (spec) => ('file' in spec ? about(spec.file.fd) : undefined)));
  }

  /** What is there, where it may be replaced; undefined where nothing is. */
  async #examine({ folder, name }: ResolvedPath): Promise<BigIntStats | undefined> {
    const target = pathIn(folder, name);
    // As the system finds it, and as it was found here.
    const [asked, found] = [await find(this.path), await find(target)];
    if (asked && !asked.isFile() && !asked.isBlockDevice()) {
      throw new DecantError('usage', `'${this.path}' is neither a regular file nor a block device`);
    }
    if (asked?.dev !== found?.dev || asked?.ino !== found?.ino) {
      throw new DecantError('usage', `'${this.path}' stands for a file without a name; name one`);
    }
    // A rename would not ask.
    if (found) await access(target, constants.W_OK);
    await this.#requireNoSource(found, await stat(folder, { bigint: true }));
    return found;
  }

  /** Fails where what is there, or where nothing is a device below `folder`, keeps what is read, or is kept by it. */
  async #requireNoSource(found: BigIntStats | undefined, folder: BigIntStats): Promise<void> {
    for (const [at, source] of (await this.#sourceFiles()).entries()) {
      if (!source) continue;
      const isRead = found ? await overlap(found, source) : (await below(folder)).has(source);
      if (!isRead) continue;
      const what = at === 0 ? 'the image itself' : 'a file that the image needs';
      throw new DecantError('usage', `'${this.path}' is ${what}; choose another output`);
    }
  }

  async #openFile(
    place: ResolvedPath,
    existing: BigIntStats | undefined,
    identity: string | undefined,
  ): Promise<TargetSpec> {
    const mode = existing || identity !== undefined ? OWNER_ONLY : ANYONE;
    let temporary = pathIn(place.folder, partialName(place, identity === undefined ? 'partial' : 'resumable'));
    this.#fd = await promisify(open)(temporary, O_CREAT | O_EXCL | O_RDWR, mode);
    this.#temporary = temporary;
    this.#made = await about(this.#fd);
    if (identity !== undefined) temporary = await this.#resume(place, temporary, identity, this.#made.mtimeNs);
    else if (existing) await keepOwnerAndMode(this.#fd, existing);
    const kept = [existing, ...(await this.#sourceFiles())];
    // A folder that cannot be listed may have leftovers; it is no reason not to convert.
    await sweepFolder(place, this.#made.mtimeNs, kept, identity === undefined).catch(() => {});
    const file = openFile(this.#fd, temporary, this.#made);
    // What is resumed is certain before its journal goes.
    const sync = this.options.sync === true || identity !== undefined;
    return { file, name: this.path, inPlace: false, dense: this.options.sparse === false, sync };
  }

  /** Goes on with what an earlier conversion has left, if it has, instead of the new file. Returns the path of what is used. */
  async #resume(place: ResolvedPath, fresh: Buffer, identity: string, now: bigint): Promise<Buffer> {
    const left = await takeOver(place, identity, now);
    if (!left) {
      this.#journal = await Journal.create(fresh, this.#fd!, identity);
      return fresh;
    }
    await this.#close();
    await unlink(fresh);
    this.#fd = left.fd;
    this.#temporary = left.path;
    this.#made = await about(left.fd);
    this.#journal = left.journal;
    this.resumePoint = left.resumePoint;
    return left.path;
  }

  /** A device, or a file that has its size already. */
  async #openInPlace({ folder, name }: ResolvedPath, there: BigIntStats, sizes: Sizes): Promise<TargetSpec> {
    const { outputSize: size, hasFooter = false } = sizes;
    const isDevice = there.isBlockDevice();
    if (size === undefined) {
      const message = `'${this.path}' is written in place and takes no output of unknown size`;
      throw new DecantError('usage', message, { code: 'size-needed' });
    }
    const room = isDevice ? await deviceSize(there.rdev) : Number(there.size);
    if (room < size) {
      throw new DecantError(
        'usage',
        `'${this.path}' holds ${room} bytes, but the output has ${size}; choose a larger ${isDevice ? 'device' : 'file'}`,
        { code: 'target-too-small', fields: { room, size } },
      );
    }
    if (hasFooter && room > size) this.#requireCut(isDevice, room, size);
    const path = pathIn(folder, name);
    // Of a device O_EXCL says that nobody else has it mounted.
    this.#fd = await promisify(open)(path, isDevice ? O_WRONLY | O_EXCL : O_WRONLY);
    const opened = await about(this.#fd);
    const isSameOne = isDevice ? opened.isBlockDevice() && opened.rdev === there.rdev : isUnwritten(there, opened);
    if (!isSameOne) {
      throw new DecantError('target', `'${this.path}' was replaced while it was opened; try again`);
    }
    // What cannot be taken is told by a flush at the latest.
    return { file: openFile(this.#fd, path, opened), name: this.path, inPlace: true, dense: true, sync: true };
  }

  /** Fails where readers would find no footer at the end of the file. A device rarely has the size of an output. */
  #requireCut(isDevice: boolean, room: number, size: number): void {
    const fields = { room, size };
    const problem = `'${this.path}' holds ${room} bytes and the output has ${size}: readers that look for its footer at the end of the ${isDevice ? 'device' : 'file'} find none`;
    if (isDevice) {
      this.notices.push({ code: 'footer-inside', fields, message: problem });
      return;
    }
    const message = `${problem}; cut it to ${size} bytes first, or write a new file`;
    throw new DecantError('usage', message, { code: 'target-too-large', fields });
  }

  /** Fails where the path leads to another file than at the start. */
  async #requireSamePlace({ folder, name }: ResolvedPath): Promise<void> {
    const now = await resolvePath(this.path, this.#given).catch((cause: unknown) => cause);
    const isSamePlace = isPlace(now) && now.folder.equals(folder) && now.name.equals(name);
    if (isSamePlace) return;
    throw new DecantError('target', `By now '${this.path}' leads elsewhere; convert again`, {
      code: 'target-changed',
      ...(isPlace(now) ? {} : { cause: now }),
    });
  }

  /** Puts the finished file into its place, if it is still what was written, and in the place where it was to go. */
  async #replace(place: ResolvedPath, temporary: Buffer, size: number): Promise<void> {
    if (this.#journal?.flushFailure !== undefined) throw this.#journal.flushFailure;
    const made = await about(this.#fd!);
    requireSize(Number(made.size), size, `'${this.path}'`);
    if (!(await this.#isOurs(temporary))) {
      throw new DecantError(
        'target',
        `Another program has removed or replaced the file that was to become '${this.path}'; try again`,
      );
    }
    const target = pathIn(place.folder, place.name);
    // By now something else may be there, the image for instance, or a link that leads elsewhere.
    const there = await lstat(target, { bigint: true }).catch(unlessMissing);
    if (there && !there.isFile()) {
      throw new DecantError('target', `By now '${this.path}' is no regular file; choose another output`);
    }
    await this.#requireNoSource(there, made);
    await this.#requireSamePlace(place);
    // They may have been changed meanwhile.
    if (there) await keepOwnerAndMode(this.#fd!, there);
    // It was this user's alone, so that nobody could put anything into it.
    else if (this.#journal) await promisify(fchmod)(this.#fd!, ANYONE & ~process.umask());
    const journal = this.#journal;
    await this.#close();
    if (there) this.#rename(temporary, target);
    else await this.#name(temporary, target);
    this.#temporary = undefined;
    this.#journal = undefined;
    if (journal) await this.#removeJournal(journal, place);
    if (this.options.sync) await this.#flushName(place.folder);
  }

  /** Also what other conversions have left for the place, which is taken now. */
  async #removeJournal(journal: Journal, place: ResolvedPath): Promise<void> {
    await sweepFolder(place, this.#made!.mtimeNs, await this.#sourceFiles(), true).catch(() => {});
    try {
      await journal.remove();
    } catch (cause) {
      throw new DecantError(
        'target',
        `'${this.path}' is complete, but its journal could not be removed: ${fileReason(cause)}`,
        { cause },
      );
    }
  }

  /** Fails where what is there is not what was there at the start, unchanged: nobody has asked to replace anything else. */
  #requireExisting(there: BigIntStats): void {
    if (this.#existing && isUnwritten(this.#existing, there)) return;
    throw new DecantError('target', `Another program has written '${this.path}' meanwhile; choose another output`, {
      code: 'target-changed',
    });
  }

  /** Gives the file its name, where nothing has it. */
  async #name(temporary: Buffer, target: Buffer): Promise<void> {
    try {
      // Unlike a rename this fails where somebody else has made a file of the name since.
      await link(temporary, target);
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'EEXIST') {
        this.#requireExisting(await lstat(target, { bigint: true }));
      }
      refused(thrown as NodeJS.ErrnoException);
      // A file system without links.
      this.#rename(temporary, target);
      return;
    }
    this.#temporary = undefined;
    try {
      await unlink(temporary);
    } catch (cause) {
      throw new DecantError('target', `'${this.path}' is complete, but ${notRemoved(temporary, cause)}`, { cause });
    }
  }

  /** Replaces what was there at the start. Synchronously: else several conversions of this process could pass the check. */
  #rename(temporary: Buffer, target: Buffer): void {
    const there = lstatSync(target, { bigint: true, throwIfNoEntry: false });
    if (there) this.#requireExisting(there);
    renameSync(temporary, target);
  }

  async #flushName(folder: Buffer): Promise<void> {
    try {
      // Where folders cannot be flushed, or this one is not this user's to read, the file itself was.
      await flushFolder(folder).catch(refused);
    } catch (cause) {
      const reason = fileReason(cause);
      const message = `'${this.path}' is complete, but a power failure may take its name away: ${reason}`;
      throw new DecantError('target', message, { cause });
    }
  }

  async #close(): Promise<void> {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd !== undefined) await promisify(close)(fd);
  }
}

const isPlace = (found: unknown): found is ResolvedPath =>
  typeof found === 'object' && found !== null && 'folder' in found;

const notRemoved = (temporary: Buffer, cause: unknown): string =>
  `'${temporary}' could not be removed: ${fileReason(cause)}`;

/**
 * As far as the system lets it; by these nobody gets to read what they could not read before. Access control lists are not
 * seen here: with one, the permissions of the group are those that the list has at most.
 */
async function keepOwnerAndMode(fd: number, { uid, gid, mode }: BigIntStats): Promise<void> {
  const keeps = async (owner: number) =>
    promisify(fchown)(fd, owner, Number(gid)).then(
      () => true,
      (thrown) => refused(thrown),
    );
  // The owner first: it takes the set-id bits away, and a group must not get what another one had.
  const hasGroup = (await keeps(Number(uid))) || (await keeps(-1));
  const permissions = Number(mode) & PERMISSIONS;
  const others = permissions & 0o7;
  const kept = hasGroup ? permissions : permissions & ((0o7 << 6) | (others << 3) | others);
  await promisify(fchmod)(fd, kept).catch(refused);
}

/** False where the system has refused it, and a failure where something else is wrong. */
function refused(thrown: NodeJS.ErrnoException): false {
  if (!CANNOT.includes(thrown.code ?? '')) throw thrown;
  return false;
}

async function flushFolder(folder: Buffer): Promise<void> {
  const fd = await promisify(open)(folder, O_RDONLY | O_DIRECTORY);
  try {
    await promisify(fsync)(fd);
  } finally {
    await promisify(close)(fd);
  }
}

function unlessMissing(thrown: NodeJS.ErrnoException): undefined {
  if (thrown.code !== 'ENOENT') throw thrown;
}
