// What is certain to be in a partial file, on the disk beside it, so that a later conversion can go on from there.

import { type BigIntStats, constants, fsync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { JournalWriter, lineOf, readLines } from '../journal-lines.js';
import type { ResumePoint } from '../output-target.js';

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_RDONLY, O_WRONLY } = constants;
const OWNER_ONLY = 0o600;
/** Upper bound on a journal that is read, in bytes. */
const MOST = 16 << 20;

export const journalOf = (partial: Buffer): Buffer => Buffer.concat([partial, Buffer.from('.journal')]);

/** Whether this user alone can have put something into the file. */
export function isOwnedByUser({ uid, nlink, mode }: BigIntStats): boolean {
  const isFile = (mode & 0o170000n) === 0o100000n;
  // Windows tells neither.
  const isOfUser = !process.getuid || (Number(uid) === process.getuid() && (mode & 0o022n) === 0n);
  return isFile && nlink === 1n && isOfUser;
}

/** What is there of the conversion `identity`, as the journal of `partial` says; undefined where it says nothing of it. */
export async function readJournal(partial: Buffer, identity: string): Promise<ResumePoint | undefined> {
  const file = await open(journalOf(partial), O_RDONLY | O_NOFOLLOW);
  try {
    const stats = await file.stat({ bigint: true });
    if (!isOwnedByUser(stats) || stats.size > MOST) return undefined;
    const lines = readLines(await file.readFile('utf8'));
    return lines?.head === identity ? lines.resumePoint : undefined;
  } finally {
    await file.close();
  }
}

export class Journal {
  readonly #writer: JournalWriter;

  private constructor(
    private readonly file: FileHandle,
    /** The partial file. */
    fd: number,
    private readonly path: Buffer,
    resumePoint?: ResumePoint,
  ) {
    const append = async (line: string) => {
      // All of it, or it fails.
      await file.appendFile(line);
      await file.sync();
    };
    this.#writer = new JournalWriter({ flushData: () => promisify(fsync)(fd), append }, resumePoint);
  }

  /** Begins one for the file `partial`, which is open as `fd`, and of which `resumePoint` is there. */
  static async create(partial: Buffer, fd: number, identity: string, resumePoint?: ResumePoint): Promise<Journal> {
    const path = journalOf(partial);
    const file = await open(path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND, OWNER_ONLY);
    try {
      await file.appendFile(`${identity}\n${resumePoint ? lineOf(resumePoint) : ''}`);
      await file.sync();
    } catch (thrown) {
      // On a full disk for instance: an empty one is of no use.
      await file.close().catch(() => {});
      await unlink(path).catch(() => {});
      throw thrown;
    }
    return new Journal(file, fd, path, resumePoint);
  }

  /** Why the data did not get to the disk, where the system has told so. */
  get flushFailure(): unknown {
    return this.#writer.flushFailure;
  }

  /** Whether anything is certain. */
  get hasAny(): boolean {
    return this.#writer.hasAny;
  }

  /** So much is written. */
  settled(resumePoint: ResumePoint): void {
    this.#writer.settled(resumePoint);
  }

  /** Ends it; with `note`, after noting what is written. */
  async keep(note: boolean): Promise<void> {
    await (note ? this.#writer.keep() : this.#writer.end());
    await this.file.close();
  }

  /** Removes it. */
  async remove(): Promise<void> {
    await this.#writer.end();
    await this.file.close();
    await unlink(this.path);
  }
}
