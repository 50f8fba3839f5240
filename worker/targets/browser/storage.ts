// Temporary files in the origin's private file system. A Web Lock of a file's name tells that
// somebody needs it; what nobody needs any more is swept.

import { cancelled, DecantError, orCancelled } from '../../errors/errors.js';
import { FOLDER, JOURNAL, journalName, PROTOCOL } from '../../messages/storage-folder.js';
import { readLines } from '../journal-lines.js';
import type { ResumePoint } from '../output-target.js';
import { isInForeignFrame, isWithoutOrigin } from './frame.js';
import { isMissing, unlessMissing } from './missing.js';
import { removeUnlessBusy } from './remove.js';

/** So long a worker may hold a file after it was ended, in milliseconds. */
const HELD = 60_000;
/** So long another tab may have a file that it only sweeps, in milliseconds. */
const SWEPT = 500;
/** What nobody has gone on with for so long is removed, in milliseconds. */
const ABANDONED = 7 * 24 * 3600 * 1000;

/** Outside of a secure context neither is there, whatever the types say. */
const hasStorage = (): boolean => navigator.storage !== undefined && navigator.locks !== undefined;

const noStorage = (code: string, reason: string, cause?: unknown): DecantError =>
  new DecantError('usage', `This way to save needs the browser's private storage, which ${reason}`, {
    code,
    ...(cause === undefined ? {} : { cause }),
  });

/** The private file system's root. Fails with `usage` where a page has none: each browser throws its own error then. */
export async function storageRoot(): Promise<FileSystemDirectoryHandle> {
  if (!globalThis.isSecureContext) throw noStorage('insecure-page', 'a page has only over https or on localhost');
  if (!hasStorage()) throw noStorage('no-storage', 'this browser does not have');
  try {
    return await navigator.storage.getDirectory();
  } catch (cause) {
    if (isWithoutOrigin()) {
      throw noStorage('sandboxed-frame', "a sandboxed frame has only with 'allow-same-origin'", cause);
    }
    if (isInForeignFrame()) {
      throw noStorage('foreign-frame', 'this browser does not give to a frame in a page of another origin', cause);
    }
    throw noStorage('refused-storage', 'this page is not given, perhaps since the window is a private one', cause);
  }
}

/** The folder of all temporary files. */
export async function storageFolder(): Promise<FileSystemDirectoryHandle> {
  return (await storageRoot()).getDirectoryHandle(FOLDER, { create: true });
}

const lockName = (file: string) => `${PROTOCOL}:${file}`;

/** Takes the lock `name` until the returned function is called. Fails where `signal` is aborted before. */
async function hold(name: string, signal?: AbortSignal): Promise<() => void> {
  const options = signal ? { signal } : {};
  return new Promise((held, failed) => {
    const take = () => new Promise<void>((release) => held(() => release()));
    navigator.locks.request(name, options, take).catch(failed);
  });
}

/**
 * Removes temporary files whose tab is gone. What a conversion could go on with stays for a week, unless `declined` says of
 * the line that its journal begins with that nobody will.
 */
export async function sweepStorage(declined: (head: string) => boolean = () => false): Promise<void> {
  if (!hasStorage()) return;
  const files = await storageFolder();
  for await (const name of files.keys()) {
    await navigator.locks.request(lockName(name.replace(JOURNAL, '')), { ifAvailable: true }, async (lock) => {
      if (!lock || (await mayResume(files, name, declined))) return;
      // A file that cannot be removed now is removed the next time.
      await files.removeEntry(name).catch(() => {});
    });
  }
}

/** Whether a conversion could go on with the file `name`, or with the one whose journal it is. */
async function mayResume(
  files: FileSystemDirectoryHandle,
  name: string,
  declined: (head: string) => boolean,
): Promise<boolean> {
  try {
    const file = await (await files.getFileHandle(name.replace(JOURNAL, ''))).getFile();
    const lines = await linesOf(files, file.name);
    return lines?.resumePoint !== undefined && Date.now() - lines.changed < ABANDONED && !declined(lines.head);
  } catch (thrown) {
    // What is not there is not gone on with. What cannot be looked at now stays.
    return !isMissing(thrown);
  }
}

/** What the journal of the file `name` says, and when it was changed; undefined where there is none. */
export async function linesOf(
  files: FileSystemDirectoryHandle,
  name: string,
): Promise<{ head: string; resumePoint: ResumePoint | undefined; changed: number } | undefined> {
  try {
    const journal = await (await files.getFileHandle(journalName(name))).getFile();
    const lines = readLines(await journal.text());
    return lines && { ...lines, changed: journal.lastModified };
  } catch (thrown) {
    return unlessMissing(thrown);
  }
}

export class TemporaryFile {
  private constructor(
    readonly handle: FileSystemFileHandle,
    private readonly release: () => void,
  ) {}

  /** An empty file with a name that was never used. What is left of others is swept: see `sweepStorage`. */
  static async create(declined?: (head: string) => boolean): Promise<TemporaryFile> {
    const files = await storageFolder();
    // It may count as used until it is gone; one that cannot be removed is no reason not to work.
    await sweepStorage(declined).catch(() => {});
    const name = crypto.randomUUID();
    const release = await hold(lockName(name));
    try {
      return new TemporaryFile(await files.getFileHandle(name, { create: true }), release);
    } catch (thrown) {
      release();
      throw thrown;
    }
  }

  /** The file `name`, which is there; undefined where somebody has it. */
  static async take(name: string): Promise<TemporaryFile | undefined> {
    const release = await hold(lockName(name), AbortSignal.timeout(SWEPT)).catch(() => undefined);
    if (!release) return undefined;
    try {
      return new TemporaryFile(await (await storageFolder()).getFileHandle(name), release);
    } catch (thrown) {
      release();
      return unlessMissing(thrown);
    }
  }

  get name(): string {
    return this.handle.name;
  }

  /** Gives it the name `name` in `folder` and replaces what was there. */
  async moveTo(folder: FileSystemDirectoryHandle, name: string): Promise<void> {
    const journal = journalName(this.handle.name);
    await this.handle.move(folder, name);
    // One that stays is swept.
    await storageFolder()
      .then((files) => files.removeEntry(journal))
      .catch(() => {});
    this.release();
  }

  /** From then on no conversion goes on with it. Fails where it has a journal that cannot be removed. */
  async removeJournal(): Promise<void> {
    await (await storageFolder()).removeEntry(journalName(this.handle.name)).catch(unlessMissing);
  }

  /** Leaves it to others. */
  leave(): void {
    this.release();
  }

  /** With its journal. What a worker still holds that was ended is removed later: until then nobody else has it. */
  async remove(): Promise<void> {
    const isGone = await this.#tryRemove().catch(() => true);
    const removed = isGone ? Promise.resolve() : this.#removeLater();
    // What is left for another reason is swept.
    removed.catch(() => {}).finally(() => this.release());
  }

  async #removeLater(): Promise<void> {
    const until = Date.now() + HELD;
    while (!(await this.#tryRemove()) && Date.now() < until);
  }

  /** The journal first: without it nobody goes on with the file. */
  async #tryRemove(): Promise<boolean> {
    const files = await storageFolder();
    const names = [journalName(this.name), this.name];
    const gone = await Promise.all(names.map((name) => removeUnlessBusy(files, name, async () => true)));
    return gone.every(Boolean);
  }
}

/** The names of the files that somebody has. */
export async function heldNames(): Promise<Set<string>> {
  const { held = [] } = await navigator.locks.query();
  return new Set(held.flatMap(({ name }) => (name?.startsWith(lockName('')) ? [name.slice(lockName('').length)] : [])));
}

/**
 * Asks for storage that lasts where `size` bytes may not fit otherwise: some browsers give it more room, and Firefox puts
 * the question to the person. Whether the bytes fit is known only when a file has its length: Chromium estimates 10 GiB
 * at most, whatever is free. So whatever goes wrong with the question is no matter.
 */
export async function askForRoom(size: number, signal: AbortSignal): Promise<void> {
  const storage: Partial<StorageManager> = navigator.storage;
  try {
    const { quota = Number.POSITIVE_INFINITY, usage = 0 } = (await storage.estimate?.()) ?? {};
    if (size <= quota - usage || (await storage.persisted?.())) return;
    await orCancelled(signal, Promise.resolve(storage.persist?.()));
  } catch {
    if (signal.aborted) throw cancelled();
  }
}
