// The journal beside a partial file: its resume points.

import { type BigIntStats, constants, fsync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { JournalWriter, lineOf, readLines } from '../journal-lines.js';
import type { ResumePoint } from '../output-target.js';

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_RDONLY, O_WRONLY } = constants;
const OWNER_ONLY = 0o600;
/** The maximum size of a journal that is read, in bytes. */
const MOST = 16 << 20;

export const journalOf = (partial: Buffer): Buffer => Buffer.concat([partial, Buffer.from('.journal')]);

/** Whether only this user can have written to the file. */
export function isOwnedByUser({ uid, nlink, mode }: BigIntStats): boolean {
  const isFile = (mode & 0o170000n) === 0o100000n;
  // Windows reports neither.
  const isOfUser = !process.getuid || (Number(uid) === process.getuid() && (mode & 0o022n) === 0n);
  return isFile && nlink === 1n && isOfUser;
}

/** Reads the resume point of the conversion `identity` in the journal of `partial`; undefined if there is none. */
export async function readJournal(partial: Buffer, identity: string): Promise<ResumePoint | undefined> {
  const lines = await linesOf(partial);
  return lines?.head === identity ? lines.resumePoint : undefined;
}

/** Whether `partial` has a journal without a resume point: no conversion can resume it. */
export async function isUseless(partial: Buffer): Promise<boolean> {
  const lines = await linesOf(partial);
  return lines !== undefined && lines.resumePoint === undefined;
}

/** Reads the journal of `partial`; undefined if it is not valid. */
async function linesOf(partial: Buffer): Promise<ReturnType<typeof readLines>> {
  const file = await open(journalOf(partial), O_RDONLY | O_NOFOLLOW);
  try {
    const stats = await file.stat({ bigint: true });
    if (!isOwnedByUser(stats) || stats.size > MOST) return undefined;
    return readLines(await file.readFile('utf8'));
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
    /** The partial file opened again for flushes; undefined if the system cannot do that. */
    private readonly reopened: FileHandle | undefined,
    private readonly path: Buffer,
    resumePoint?: ResumePoint,
  ) {
    const append = async (line: string) => {
      // Writes the whole line, or fails.
      await file.appendFile(line);
      await file.sync();
    };
    const flushData = () => promisify(fsync)(reopened?.fd ?? fd);
    this.#writer = new JournalWriter({ flushData, append }, resumePoint);
  }

  /** Creates the journal of the file `partial`, which is open as `fd` and written up to `resumePoint`. */
  static async create(partial: Buffer, fd: number, identity: string, resumePoint?: ResumePoint): Promise<Journal> {
    const path = journalOf(partial);
    const file = await open(path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND, OWNER_ONLY);
    try {
      await file.appendFile(`${identity}\n${resumePoint ? lineOf(resumePoint) : ''}`);
      await file.sync();
    } catch (thrown) {
      // On a full disk, for instance: an incomplete journal is useless.
      await file.close().catch(() => {});
      await unlink(path).catch(() => {});
      throw thrown;
    }
    // Reading needs another descriptor. Only Linux can open the same file again this way.
    const reopened = await open(`/proc/self/fd/${fd}`, O_RDONLY).catch(() => undefined);
    return new Journal(file, fd, reopened, path, resumePoint);
  }

  /**
   * Whether a flush still reports all earlier failures of the system to write data, after others have flushed the file: it
   * reports them once to each opening of a file.
   */
  get flushesApart(): boolean {
    return this.reopened !== undefined;
  }

  /** Why the data could not be flushed, if the system reported that. */
  get flushFailure(): unknown {
    return this.#writer.flushFailure;
  }

  /** Whether there is any saved progress. */
  get hasAny(): boolean {
    return this.#writer.hasAny;
  }

  /** Reports that the file is written up to `resumePoint`. */
  settled(resumePoint: ResumePoint): void {
    this.#writer.settled(resumePoint);
  }

  /** Closes the journal. With `save`, saves the latest resume point first. */
  async keep(save: boolean): Promise<void> {
    await (save ? this.#writer.keep() : this.#writer.end());
    await this.#close();
  }

  /** Closes and removes the journal. */
  async remove(): Promise<void> {
    await this.#writer.end();
    await this.#close();
    await unlink(this.path);
  }

  async #close(): Promise<void> {
    await this.reopened?.close();
    await this.file.close();
  }
}
