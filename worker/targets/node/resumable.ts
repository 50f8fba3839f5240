// Partial files with a journal, which a later conversion can resume.

import { type BigIntStats, close, constants, ftruncate, open } from 'node:fs';
import { lstat, rename, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { succeeds } from '../../errors/signals.js';
import type { SavedProgress } from '../../public/types.js';
import type { ResumePoint } from '../output-target.js';
import { isOwnedByUser, isUseless, Journal, journalOf, readJournal } from './journal.js';
import { isInUse, partialName, resumables } from './partial.js';
import { isSameInode, pathIn, type ResolvedPath, statsOf } from './resolved-path.js';

const { O_NOFOLLOW = 0, O_RDWR } = constants;

interface Resumed {
  path: Buffer;
  fd: number;
  resumePoint: ResumePoint;
  journal: Journal;
}

/**
 * Takes over a file that an earlier conversion `identity` left for `location`, if there is one. The file is truncated to its
 * resume point. `now` is the time by the clock of the folder.
 */
export async function takeOver(location: ResolvedPath, identity: string, now: bigint): Promise<Resumed | undefined> {
  for (const { path, resumePoint } of await leftoversFor(location, identity, now)) {
    const resumed = await claim(location, path, identity, resumePoint);
    if (resumed) return resumed;
  }
  return undefined;
}

/**
 * Removes the files of dead conversions to `location` that have no resume point: they take the space of the next one. Those stay that are
 * the output that was there (`existing`), or are read. `now` is by the clock of the folder.
 */
export async function removeUseless(
  location: ResolvedPath,
  now: bigint,
  existing: BigIntStats | undefined,
): Promise<void> {
  for (const path of await resumables(location, now)) {
    // An unreadable journal is ignored.
    if (!(await isUseless(path).catch(() => false))) continue;
    const stats = await lstat(path, { bigint: true });
    if (isInUse(stats, existing)) continue;
    // The journal last: without it, the file would stay for a week.
    for (const file of [path, journalOf(path)]) await unlink(file).catch(unlessGone);
  }
}

/** The progress that `takeOver` would resume. */
export async function resumableFor(location: ResolvedPath, identity: string): Promise<SavedProgress> {
  const left = () => leftoversFor(location, identity, BigInt(Date.now()) * 1_000_000n);
  const [best] = await left();
  return {
    guestDone: best?.resumePoint.guest ?? 0,
    async discard() {
      for (const { path } of await left()) {
        // The journal first: without it, no conversion resumes the file.
        for (const file of [journalOf(path), path]) await unlink(file).catch(unlessGone);
      }
    },
  };
}

/** The files that conversions `identity` left for `location`, the one with the most progress first. */
async function leftoversFor(
  location: ResolvedPath,
  identity: string,
  now: bigint,
): Promise<{ path: Buffer; resumePoint: ResumePoint }[]> {
  const left: { path: Buffer; resumePoint: ResumePoint }[] = [];
  for (const path of await resumables(location, now)) {
    // An unreadable journal is ignored.
    const resumePoint = await readJournal(path, identity).catch(() => undefined);
    if (resumePoint) left.push({ path, resumePoint });
  }
  return left.toSorted((a, b) => b.resumePoint.guest - a.resumePoint.guest);
}

function unlessGone(thrown: NodeJS.ErrnoException): void {
  if (thrown.code !== 'ENOENT') throw thrown;
}

/**
 * Releases a file of this process, which has a journal, so that any process can resume it. Resolves to whether it still
 * exists.
 */
export const releaseForResume = (location: ResolvedPath, path: Buffer, made: BigIntStats): Promise<boolean> =>
  isRenamed(path, pathIn(location.folder, partialName(location, 'resumable', 'nobody')), made);

/**
 * Claims a file. Undefined if another process was faster, or the file is not valid. It gets a new journal: if its process is
 * alive after all, that may still write resume points to the old one that are cut off here.
 */
async function claim(
  location: ResolvedPath,
  left: Buffer,
  identity: string,
  resumePoint: ResumePoint,
): Promise<Resumed | undefined> {
  const fd = await promisify(open)(left, O_RDWR | O_NOFOLLOW).catch(() => undefined);
  if (fd === undefined) return undefined;
  let journal: Journal | undefined;
  try {
    const stats = await statsOf(fd);
    if (isOwnedByUser(stats) && stats.size >= resumePoint.guest) {
      const path = pathIn(location.folder, partialName(location, 'resumable'));
      journal = await Journal.create(path, fd, identity, resumePoint);
      if (await isMoved(left, path, stats)) {
        // After a crash of the system, anything may follow the resume point.
        await promisify(ftruncate)(fd, resumePoint.guest);
        await unlink(journalOf(left)).catch(unlessGone);
        return { path, fd, resumePoint, journal };
      }
    }
  } catch (thrown) {
    await promisify(close)(fd);
    throw thrown;
  }
  await journal?.remove();
  await promisify(close)(fd);
  return undefined;
}

/** Renames the file: only one of several processes can. */
async function isMoved(left: Buffer, path: Buffer, made: BigIntStats): Promise<boolean> {
  try {
    await rename(left, path);
  } catch {
    return false;
  }
  return isSameInode(await lstat(path, { bigint: true }), made);
}

/** Renames the file and its journal. */
async function isRenamed(left: Buffer, path: Buffer, made: BigIntStats): Promise<boolean> {
  if (!(await isMoved(left, path, made))) return false;
  return succeeds(rename(journalOf(left), journalOf(path)));
}
