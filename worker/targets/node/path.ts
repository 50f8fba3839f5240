// A path in Node: a temporary file beside the target, renamed over it at the end. Block devices, and files with `existing`, are
// written in place: see in-place.ts.

import { type BigIntStats, close, constants, fsync, lstatSync, open, renameSync } from 'node:fs';
import { access, link, lstat, stat, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { DecantError } from '../../errors/errors.js';
import { fileError, fileReason } from '../../errors/file-error.js';
import type { TargetSpec } from '../../messages/messages.js';
import type { Notice, SavedProgress } from '../../public/types.js';
import type { OpenedSource } from '../../sources/opened-source.js';
import { claimOutput, outputInUse } from '../claims.js';
import { type OutputTarget, type ResumePoint, requireSize, resumableError, type Sizes } from '../output-target.js';
import { allocate } from './allocate.js';
import { below, overlap, sourceFiles } from './device.js';
import { openInPlace } from './in-place.js';
import { Journal } from './journal.js';
import type { OutputPath } from './output-path.js';
import { keepOwnerAndMode, type MadeFile, refused, setMode } from './owner-and-mode.js';
import { hasRival, isLocal, partialName, sweepFolder } from './partial.js';
import {
  folderGiven,
  isSameInode,
  openFileOf,
  pathIn,
  type ResolvedPath,
  resolvePath,
  statsOf,
} from './resolved-path.js';
import { releaseForResume, removeUseless, resumableFor, takeOver } from './resumable.js';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_RDONLY, O_RDWR } = constants;
/** The mode of a new file, before the umask. */
const ANYONE = 0o666;
const OWNER_ONLY = 0o600;

const find = (path: string | Buffer) => stat(path, { bigint: true }).catch(unlessMissing);

/** See `ConvertOptions` in Node. */
interface PathOptions {
  sync?: boolean | undefined;
  sparse?: boolean | undefined;
  existing?: boolean | undefined;
  verify?: boolean | undefined;
}

export class PathTarget implements OutputTarget {
  readonly resumes = true;
  readonly readsBack = 'before';
  readonly notices: Notice[] = [];
  resumePoint: ResumePoint | undefined;
  isAllocated = false;
  /** The journal of the temporary file, if a later conversion may resume it. */
  #journal: Journal | undefined;
  #location: ResolvedPath | undefined;
  #fd: number | undefined;
  /** The path of the temporary file; undefined if the output is written in place. */
  #temporary: Buffer | undefined;
  /** The identity of the temporary file: another file may have its name by now. */
  #made: BigIntStats | undefined;
  /** The state of an output that is written in place, before the first write. */
  #untouched: BigIntStats | undefined;
  /** The existing file, which may be replaced. */
  #existing: BigIntStats | undefined;
  /** The folder of the output. */
  #folder: BigIntStats | undefined;
  /** Ends the claim on the output. */
  #release = () => {};

  /** The path as the caller gave it, for messages. */
  private readonly path: string;

  constructor(
    private readonly output: OutputPath,
    private readonly sources: OpenedSource['spec'][],
    private readonly options: PathOptions = {},
  ) {
    this.path = output.path;
  }

  async prepare(sizes: Sizes, signal: AbortSignal, identity?: string): Promise<TargetSpec> {
    try {
      const { location, existing } = await this.#locate(identity !== undefined);
      this.#release = claimOutput(`'${this.path}'`, keysOf(this.#folder!, location, existing));
      if (this.#isInPlace(existing)) {
        const opened = await openInPlace(this.path, location, existing, sizes, this.options.verify === true);
        this.#fd = opened.file.fd;
        this.#untouched = opened.stats;
        this.notices.push(...opened.notices);
        // With `sync`: failed writes are reported by the flush at the latest.
        return { file: opened.file, name: this.path, inPlace: true, dense: true, sync: true };
      }
      return await this.#openFile(location, existing, sizes, signal, identity);
    } catch (thrown) {
      throw fileError(thrown, 'target', `write '${this.path}'`);
    }
  }

  /** Fails as `prepare` does if no output can be written there. */
  async requireWritable(isResumable: boolean): Promise<void> {
    try {
      const { location, existing } = await this.#locate(isResumable);
      if (!this.#isInPlace(existing)) await access(location.folder, constants.W_OK | constants.X_OK);
    } catch (thrown) {
      throw fileError(thrown, 'target', `write '${this.path}'`);
    }
  }

  async commit(size: number): Promise<void> {
    try {
      if (this.#temporary) await this.#replace(this.#location!, this.#temporary, size);
      else {
        await this.#requireInPlace(this.#untouched!);
        await this.#close();
      }
      this.#release();
    } catch (thrown) {
      throw fileError(thrown, 'target', `write '${this.path}'`);
    }
  }

  async readBack(size: number): Promise<OpenedSource> {
    try {
      const fd = this.#fd!;
      const stats = await statsOf(fd);
      if (this.#temporary) requireSize(Number(stats.size), size, `'${this.path}'`);
      const path = this.#temporary ?? pathIn(this.#location!.folder, this.#location!.name);
      const closed = async () => {};
      // The target closes the file.
      return {
        spec: { file: openFileOf(fd, path, stats), size },
        identity: this,
        name: undefined,
        size,
        verify: closed,
        close: closed,
      };
    } catch (thrown) {
      throw fileError(thrown, 'target', `read '${this.path}' back`);
    }
  }

  settled(resumePoint: ResumePoint): void {
    this.#journal?.settled(resumePoint);
  }

  async discard(reason: DecantError, keep: boolean): Promise<void> {
    try {
      await this.#discard(reason, keep);
    } finally {
      this.#release();
    }
  }

  async #discard(reason: DecantError, keep: boolean): Promise<void> {
    const journal = this.#journal;
    this.#journal = undefined;
    if (journal && keep) {
      await journal.keep(reason.kind !== 'target' || (await this.#isOnlyFull(reason, journal)));
      if (journal.hasAny && (await releaseForResume(this.#location!, this.#temporary!, this.#made!))) {
        await this.#close();
        throw resumableError();
      }
    }
    // A journal that stays is swept by the next conversion to the folder.
    await journal?.remove().catch(() => {});
    const temporary = this.#temporary;
    this.#temporary = undefined;
    // Before the close: some file systems change the number of a file that is not open.
    const isOurs = temporary !== undefined && (await this.#isOurs(temporary).catch(() => false));
    const overwritten = await this.#overwritten();
    await this.#close();
    if (overwritten !== undefined) throw new DecantError('target', overwritten);
    if (!isOurs) return;
    await unlink(temporary)
      .catch(unlessMissing)
      .catch((cause) => {
        throw new DecantError('target', notRemoved(temporary, cause), { cause });
      });
  }

  /**
   * Whether a flush still proves that all successful writes are on the disk. After a failed write, it does not: the system
   * may have reported the loss of earlier data with it. But a full local disk fails only the write that found no room.
   */
  async #isOnlyFull({ code }: DecantError, journal: Journal): Promise<boolean> {
    return code === 'disk-full' && journal.flushesApart && (await isLocal(this.#location!.folder));
  }

  async savedProgress(identity: string): Promise<SavedProgress> {
    try {
      return await resumableFor(await resolvePath(this.path, this.output.given), identity);
    } catch (thrown) {
      throw fileError(thrown, 'target', `examine '${this.path}'`);
    }
  }

  /** Describes the state of an output that is written in place, after a failure; undefined if it is unchanged, and for others. */
  async #overwritten(): Promise<string | undefined> {
    if (!this.#untouched || this.#fd === undefined) return undefined;
    // Writes to a device do not change its modification time.
    if (this.#untouched.isBlockDevice()) return `'${this.path}' may now contain a part of the disk`;
    const now = await statsOf(this.#fd);
    if (now.mtimeNs === this.#untouched.mtimeNs) return undefined;
    const isThere = isSameInode(await find(this.output.given).catch(() => undefined), now);
    return `${isThere ? '' : 'the file that was opened as '}'${this.path}' now contains a part of the disk`;
  }

  get #madeFile(): MadeFile {
    return { fd: this.#fd!, path: this.#temporary!, stats: this.#made! };
  }

  /** Whether the temporary file was neither removed nor replaced. */
  async #isOurs(temporary: Buffer): Promise<boolean> {
    return isSameInode(await lstat(temporary, { bigint: true }).catch(unlessMissing), this.#made);
  }

  /** Finds the location of the output, and the existing file there. Fails if no output can be written there. */
  async #locate(isResumable: boolean): Promise<{ location: ResolvedPath; existing: BigIntStats | undefined }> {
    const { location, existing } = await this.output.locate();
    this.#location = location;
    this.#folder = await stat(location.folder, { bigint: true });
    await this.#examine(location, existing);
    this.#existing = existing;
    if (this.options.existing && !existing) {
      throw new DecantError('usage', `'${this.path}' does not exist, so it cannot be written in place`);
    }
    if (isResumable && this.#isInPlace(existing)) {
      throw new DecantError('usage', `'${this.path}' is written in place, so the conversion cannot be resumed`);
    }
    return { location, existing };
  }

  /** Whether the output is written in place. */
  async needsSize(): Promise<boolean> {
    const { existing } = await this.#locate(false);
    return this.#isInPlace(existing);
  }

  #isInPlace(existing: BigIntStats | undefined): existing is BigIntStats {
    return existing !== undefined && (this.options.existing === true || existing.isBlockDevice());
  }

  /** Fails if `found`, the existing file at the target, must not be replaced. */
  async #examine({ folder, name }: ResolvedPath, found: BigIntStats | undefined): Promise<void> {
    // The file that the system finds, if not the one that `resolvePath` found.
    const asked = await find(this.output.given);
    if (asked?.isDirectory()) throw folderGiven(this.path);
    if (asked && !asked.isFile() && !asked.isBlockDevice()) {
      throw new DecantError('usage', `'${this.path}' is neither a regular file nor a block device`);
    }
    if ((asked ?? found) && !isSameInode(asked, found)) {
      throw new DecantError('usage', `'${this.path}' is an open descriptor, not the path of a file; choose a file`);
    }
    // A rename does not check the permission of the file.
    if (found) await access(pathIn(folder, name), constants.W_OK);
    await this.#requireNoSource(found, this.#folder!);
  }

  /** Fails if the existing file overlaps a source, or, without one, if a device below `folder` is a source. */
  async #requireNoSource(found: BigIntStats | undefined, folder: BigIntStats): Promise<void> {
    for (const [at, source] of (await sourceFiles(this.sources)).entries()) {
      if (!source) continue;
      const isRead = found ? await overlap(found, source) : (await below(folder)).has(source);
      if (!isRead) continue;
      const what = at === 0 ? 'the image itself' : 'a file that the image needs';
      throw new DecantError('usage', `'${this.path}' is ${what}; choose another output`);
    }
  }

  async #openFile(
    location: ResolvedPath,
    existing: BigIntStats | undefined,
    { outputSize }: Sizes,
    signal: AbortSignal,
    identity: string | undefined,
  ): Promise<TargetSpec> {
    const mode = existing || identity !== undefined ? OWNER_ONLY : ANYONE;
    let temporary = pathIn(location.folder, partialName(location, identity === undefined ? 'partial' : 'resumable'));
    this.#fd = await promisify(open)(temporary, O_CREAT | O_EXCL | O_RDWR, mode);
    this.#temporary = temporary;
    this.#made = await statsOf(this.#fd);
    if (await hasRival(location, temporary, this.#made)) throw outputInUse(`'${this.path}'`);
    if (identity !== undefined) {
      // A folder that cannot be listed does not prevent a conversion.
      await removeUseless(location, this.#made.mtimeNs, existing).catch(() => {});
      temporary = await this.#resume(location, temporary, identity, this.#made.mtimeNs);
    } else if (existing) await keepOwnerAndMode(this.#madeFile, existing);
    await sweepFolder(location, this.#made.mtimeNs, existing, identity === undefined);
    const file = openFileOf(this.#fd, temporary, this.#made);
    // A resumed file must be flushed before its journal is removed.
    const sync = this.options.sync === true || identity !== undefined;
    const isDense = this.options.sparse === false;
    // A file that is resumed has its own length.
    if (isDense && outputSize && identity === undefined)
      this.isAllocated = await allocate(this.#fd, outputSize, signal);
    return { file, name: this.path, inPlace: false, dense: isDense && !this.isAllocated, sync };
  }

  /** Resumes the file of an earlier conversion, if there is one, instead of the new file. Returns the path that is used. */
  async #resume(location: ResolvedPath, fresh: Buffer, identity: string, now: bigint): Promise<Buffer> {
    const left = await takeOver(location, identity, now);
    if (!left) {
      this.#journal = await Journal.create(fresh, this.#fd!, identity);
      return fresh;
    }
    await this.#close();
    await unlink(fresh);
    this.#fd = left.fd;
    this.#temporary = left.path;
    this.#made = await statsOf(left.fd);
    this.#journal = left.journal;
    this.resumePoint = left.resumePoint;
    return left.path;
  }

  /** Fails if the path no longer leads to the file that was written in place and was as `before`, or its size has changed. */
  async #requireInPlace(before: BigIntStats): Promise<void> {
    // Links to a device may be recreated when it is written.
    if (before.isBlockDevice()) return;
    await this.output.requireLocation(this.#location!);
    const now = await statsOf(this.#fd!);
    if (now.size === before.size && isSameInode(await find(this.output.given), now)) return;
    const what = now.size === before.size ? 'moved, replaced or removed' : 'changed the size of';
    throw new DecantError('target', `Another program has ${what} '${this.path}' while it was written; convert again`, {
      code: 'target-changed',
    });
  }

  /** Renames the finished file to the target, after checking that neither was replaced by another program. */
  async #replace(location: ResolvedPath, temporary: Buffer, size: number): Promise<void> {
    if (this.#journal?.flushFailure !== undefined) throw this.#journal.flushFailure;
    const made = await statsOf(this.#fd!);
    requireSize(Number(made.size), size, `'${this.path}'`);
    if (!(await this.#isOurs(temporary))) throw await this.#lost(location);
    const target = pathIn(location.folder, location.name);
    // Another file may be there by now: the image, for instance, or a link.
    const there = await lstat(target, { bigint: true }).catch(unlessMissing);
    if (there && !there.isFile()) {
      throw new DecantError('target', `'${this.path}' is no longer a regular file; choose another output`);
    }
    await this.#requireNoSource(there, made);
    await this.output.requireLocation(location);
    // Again: owner and mode may have changed during the conversion.
    if (there) await keepOwnerAndMode(this.#madeFile, there);
    // A resumable file had mode 0600, so that no other user could write to it.
    else if (this.#journal) await setMode(this.#madeFile, ANYONE & ~process.umask());
    const journal = this.#journal;
    await this.#close();
    if (there) this.#rename(temporary, target);
    else await this.#name(temporary, target);
    this.#temporary = undefined;
    this.#journal = undefined;
    if (journal) await this.#removeJournal(journal, location);
    if (this.options.sync) await this.#flushName(location.folder);
  }

  /** Makes the error for a temporary file that was moved, removed or replaced. */
  async #lost({ folder }: ResolvedPath): Promise<DecantError> {
    if (isSameInode(await find(folder), this.#folder)) {
      const message = `Another program has removed or replaced the file that was to become '${this.path}'; try again`;
      return new DecantError('target', message);
    }
    const message = `The folder of '${this.path}' was moved, renamed or removed; convert again. A partial file may be left in it: the next conversion to that folder removes it`;
    return new DecantError('target', message, { code: 'place-gone' });
  }

  /** Removes the journal, and files that other conversions left for this target. */
  async #removeJournal(journal: Journal, location: ResolvedPath): Promise<void> {
    await sweepFolder(location, this.#made!.mtimeNs, undefined, true);
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

  /** Moves the file to a name that did not exist at the start. */
  async #name(temporary: Buffer, target: Buffer): Promise<void> {
    try {
      // Unlike a rename, a link fails if another program has created the file by now.
      await link(temporary, target);
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'EEXIST') {
        this.output.requireUnwritten(this.#existing, await lstat(target, { bigint: true }));
      }
      refused(thrown as NodeJS.ErrnoException);
      // The file system has no hard links.
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

  /** Replaces the file of the start. Synchronous, so that only one conversion of this process passes the check. */
  #rename(temporary: Buffer, target: Buffer): void {
    const there = lstatSync(target, { bigint: true, throwIfNoEntry: false });
    if (there) this.output.requireUnwritten(this.#existing, there);
    renameSync(temporary, target);
  }

  async #flushName(folder: Buffer): Promise<void> {
    try {
      // Some folders cannot be flushed, or not be read by this user: then only the file is flushed.
      await flushFolder(folder).catch(refused);
    } catch (cause) {
      const reason = fileReason(cause);
      const message = `'${this.path}' is complete, but its name may be lost in a power failure: ${reason}`;
      throw new DecantError('target', message, { cause });
    }
  }

  async #close(): Promise<void> {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd !== undefined) await promisify(close)(fd);
  }
}

/** The identifiers of an output: its folder and name, and the existing file, which may have other names. */
function keysOf(folder: BigIntStats, { name }: ResolvedPath, existing: BigIntStats | undefined): string[] {
  const location = `${folder.dev}:${folder.ino}/${name.toString('latin1')}`;
  return existing ? [location, `${existing.dev}:${existing.ino}`] : [location];
}

const notRemoved = (temporary: Buffer, cause: unknown): string =>
  `'${temporary}' could not be removed: ${fileReason(cause)}`;

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
