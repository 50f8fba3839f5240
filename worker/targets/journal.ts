// What is certain to be in a partial file, on the disk beside it, so that a later conversion can go on from there.

import { type BigIntStats, constants, fsync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { Notes, readLines, wholeLines } from './journal-lines.js';
import type { Begun } from './route.js';

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_RDONLY, O_RDWR, O_WRONLY } = constants;
const OWNER_ONLY = 0o600;
/** Upper bound on a journal that is read, in bytes. */
const MOST = 16 << 20;

export const journalOf = (partial: Buffer): Buffer => Buffer.concat([partial, Buffer.from('.journal')]);

/** Whether this user alone can have put something into the file. */
export function isOwn({ uid, nlink, mode }: BigIntStats): boolean {
  const isFile = (mode & 0o170000n) === 0o100000n;
  const isForOthers = (mode & 0o022n) !== 0n;
  return isFile && nlink === 1n && !isForOthers && (!process.getuid || Number(uid) === process.getuid());
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
      await file.write(line);
      await file.sync();
    };
    this.#notes = new Notes({ flushData: () => promisify(fsync)(fd), append }, begun);
  }

  /** Begins one for the file `partial`, which is open as `fd`. */
  static async create(partial: Buffer, fd: number, identity: string): Promise<Journal> {
    const path = journalOf(partial);
    const file = await open(path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND, OWNER_ONLY);
    await file.write(`${identity}\n`);
    return new Journal(file, fd, path);
  }

  /** Goes on with the one of `partial`, which says that `begun` is there. */
  static async goOn(partial: Buffer, fd: number, begun: Begun): Promise<Journal> {
    const path = journalOf(partial);
    const file = await open(path, O_RDWR | O_APPEND | O_NOFOLLOW);
    await file.truncate(wholeLines(await file.readFile()));
    return new Journal(file, fd, path, begun);
  }

  /** Whether anything is certain. */
  get hasAny(): boolean {
    return this.#notes.hasAny;
  }

  /** So much is written. */
  settled(begun: Begun): void {
    this.#notes.settled(begun);
  }

  /** Notes what is written, and ends. */
  async keep(): Promise<void> {
    await this.#notes.keep();
    await this.file.close();
  }

  /** Removes it. */
  async remove(): Promise<void> {
    await this.#notes.end();
    await this.file.close();
    await unlink(this.path);
  }
}
