// What is certain to be in a partial file, on the disk beside it, so that a later conversion can go on from there.

import { type BigIntStats, constants, fsync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { lineOf, nextNote, readLines } from './journal-lines.js';
import type { Begun } from './route.js';

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_RDONLY, O_RDWR, O_WRONLY } = constants;
const LINE_END = '\n'.charCodeAt(0);
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
  #latest: Begun;
  #noted: Begun;
  /** When it is to be noted next. */
  #next = nextNote(performance.now(), performance.now());
  #noting: Promise<void> | undefined;
  /** Why nothing can be noted any more. */
  #failure: unknown;

  private constructor(
    private readonly file: FileHandle,
    /** The partial file. */
    private readonly fd: number,
    private readonly path: Buffer,
    begun: Begun,
  ) {
    this.#latest = begun;
    this.#noted = begun;
  }

  /** Begins one for the file `partial`, which is open as `fd`. */
  static async create(partial: Buffer, fd: number, identity: string): Promise<Journal> {
    const path = journalOf(partial);
    const file = await open(path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND, OWNER_ONLY);
    await file.write(`${identity}\n`);
    return new Journal(file, fd, path, { guest: 0, written: 0 });
  }

  /** Goes on with the one of `partial`, which says that `begun` is there. */
  static async goOn(partial: Buffer, fd: number, begun: Begun): Promise<Journal> {
    const path = journalOf(partial);
    const file = await open(path, O_RDWR | O_APPEND | O_NOFOLLOW);
    // The next line must not continue one without an end.
    const whole = (await file.readFile()).lastIndexOf(LINE_END) + 1;
    await file.truncate(whole);
    return new Journal(file, fd, path, begun);
  }

  /** Whether anything is certain. */
  get hasAny(): boolean {
    return this.#noted.guest > 0;
  }

  /** So much is written. It is noted when it is certain, now and then. */
  settled(begun: Begun): void {
    this.#latest = begun;
    const now = performance.now();
    if (this.#noting || now < this.#next) return;
    this.#noting = this.#note().finally(() => {
      this.#next = nextNote(now, performance.now());
      this.#noting = undefined;
    });
  }

  /** Notes what is written, and ends. */
  async keep(): Promise<void> {
    await this.#noting;
    if (this.#latest.guest > this.#noted.guest) await this.#note();
    await this.file.close();
  }

  /** Removes it. */
  async remove(): Promise<void> {
    await this.#noting;
    await this.file.close();
    await unlink(this.path);
  }

  /** The data first: nothing is noted that a power failure could take away. A failure makes less certain, and no more. */
  async #note(): Promise<void> {
    if (this.#failure !== undefined) return;
    const latest = this.#latest;
    try {
      await promisify(fsync)(this.fd);
      await this.file.write(lineOf(latest));
      await this.file.sync();
      this.#noted = latest;
    } catch (thrown) {
      this.#failure = thrown;
    }
  }
}
