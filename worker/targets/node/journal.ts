// What is certain to be in a partial file, on the disk beside it, so that a later conversion can go on from there.

import { type BigIntStats, constants, fsync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { lineOf, Notes, readLines } from '../journal-lines.js';
import type { Begun } from '../output-target.js';

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_RDONLY, O_WRONLY } = constants;
const OWNER_ONLY = 0o600;
/** Upper bound on a journal that is read, in bytes. */
const MOST = 16 << 20;

export const journalOf = (partial: Buffer): Buffer => Buffer.concat([partial, Buffer.from('.journal')]);

/** Whether this user alone can have put something into the file. */
export function isOwn({ uid, nlink, mode }: BigIntStats): boolean {
  const isFile = (mode & 0o170000n) === 0o100000n;
  // Windows tells neither.
  const isOfUser = !process.getuid || (Number(uid) === process.getuid() && (mode & 0o022n) === 0n);
  return isFile && nlink === 1n && isOfUser;
}

/** What is there of the conversion `identity`, as the journal of `partial` says; undefined where it says nothing of it. */
export async function readJournal(partial: Buffer, identity: string): Promise<Begun | undefined> {
  const file = await open(journalOf(partial), O_RDONLY | O_NOFOLLOW);
  try {
    const stats = await file.stat({ bigint: true });
    if (!isOwn(stats) || stats.size > MOST) return undefined;
    const lines = readLines(await file.readFile('utf8'));
    return lines?.head === identity ? lines.begun : undefined;
  } finally {
    await file.close();
  }
}

export class Journal {
  readonly #notes: Notes;

  private constructor(
    private readonly file: FileHandle,
    /** The partial file. */
    fd: number,
    private readonly path: Buffer,
    begun?: Begun,
  ) {
    const append = async (line: string) => {
      // All of it, or it fails.
      await file.appendFile(line);
      await file.sync();
    };
    this.#notes = new Notes({ flushData: () => promisify(fsync)(fd), append }, begun);
  }

  /** Begins one for the file `partial`, which is open as `fd`, and of which `begun` is there. */
  static async create(partial: Buffer, fd: number, identity: string, begun?: Begun): Promise<Journal> {
    const path = journalOf(partial);
    const file = await open(path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND, OWNER_ONLY);
    try {
      await file.appendFile(`${identity}\n${begun ? lineOf(begun) : ''}`);
      await file.sync();
    } catch (thrown) {
      // On a full disk for instance: an empty one is of no use.
      await file.close().catch(() => {});
      await unlink(path).catch(() => {});
      throw thrown;
    }
    return new Journal(file, fd, path, begun);
  }

  /** Why the data did not get to the disk, where the system has told so. */
  get flushFailure(): unknown {
    return this.#notes.flushFailure;
  }

  /** Whether anything is certain. */
  get hasAny(): boolean {
    return this.#notes.hasAny;
  }

  /** So much is written. */
  settled(begun: Begun): void {
    this.#notes.settled(begun);
  }

  /** Ends it; with `note`, after noting what is written. */
  async keep(note: boolean): Promise<void> {
    await (note ? this.#notes.keep() : this.#notes.end());
    await this.file.close();
  }

  /** Removes it. */
  async remove(): Promise<void> {
    await this.#notes.end();
    await this.file.close();
    await unlink(this.path);
  }
}
