// Temporary files in the origin's private file system. A Web Lock with the file's name protects each file in use; files
// without a lock are swept.

import { cancelled, DecantError, orCancelled } from '../../errors/errors.js';
import { FOLDER, JOURNAL, journalName, PROTOCOL } from '../../messages/messages.js';
import { readLines } from '../journal-lines.js';
import type { ResumePoint } from '../output-target.js';
import { isMissing, removeUnlessBusy, unlessMissing } from './entries.js';
import { isInForeignFrame, isWithoutOrigin } from './frame.js';

/** How long a terminated worker may hold a file, in milliseconds. */
const HELD = 60_000;
/** How long another tab may hold the lock of a file that it sweeps, in milliseconds. */
const SWEPT = 500;
/** How long saved progress stays without being resumed, in milliseconds. */
const ABANDONED = 7 * 24 * 3600 * 1000;

/** Outside of a secure context, both are missing, despite their types. */
const hasStorage = (): boolean => navigator.storage !== undefined && navigator.locks !== undefined;

const noStorage = (code: string, reason: string, cause?: unknown): DecantError =>
  new DecantError('usage', `This kind of output needs the browser's private storage, which ${reason}`, {
    code,
    ...(cause === undefined ? {} : { cause }),
  });

/** Resolves to the root of the private file system. Fails with `usage` if the page has none: browsers' errors differ then. */
export async function storageRoot(): Promise<FileSystemDirectoryHandle> {
  if (!globalThis.isSecureContext) throw noStorage('insecure-page', 'is available only over https or on localhost');
  if (!hasStorage()) throw noStorage('no-storage', 'this browser does not have');
  try {
    return await navigator.storage.getDirectory();
  } catch (cause) {
    if (isWithoutOrigin()) {
      throw noStorage('sandboxed-frame', "is available in a sandboxed frame only with 'allow-same-origin'", cause);
    }
    if (isInForeignFrame()) {
      throw noStorage('foreign-frame', 'this browser does not allow in a cross-origin frame', cause);
    }
    throw noStorage('refused-storage', 'is not available to this page, perhaps because the window is private', cause);
  }
}

/** The folder of all temporary files. */
export async function storageFolder(): Promise<FileSystemDirectoryHandle> {
  return (await storageRoot()).getDirectoryHandle(FOLDER, { create: true });
}

const lockName = (file: string) => `${PROTOCOL}:${file}`;

/** Takes the lock `name` until the returned function is called. Fails if `signal` is aborted first. */
async function hold(name: string, signal?: AbortSignal): Promise<() => void> {
  const options = signal ? { signal } : {};
  return new Promise((held, failed) => {
    const take = () => new Promise<void>((release) => held(() => release()));
    navigator.locks.request(name, options, take).catch(failed);
  });
}

/**
 * Removes temporary files of closed tabs. Files that can be resumed stay for a week, unless `declined` returns `true` for the
 * head of their journal. `folder`: that of all temporary files, if it is open.
 */
export async function sweepStorage(
  declined: (head: string) => boolean = () => false,
  folder?: FileSystemDirectoryHandle,
): Promise<void> {
  if (!hasStorage()) return;
  const files = folder ?? (await storageFolder());
  const names = new Set<string>();
  for await (const name of files.keys()) names.add(name.replace(JOURNAL, ''));
  await Promise.all([...names].map((name) => sweep(files, name, declined)));
}

/** Removes the file `name` and its journal, unless a conversion uses the file or may resume it. */
async function sweep(
  files: FileSystemDirectoryHandle,
  name: string,
  declined: (head: string) => boolean,
): Promise<void> {
  await navigator.locks.request(lockName(name), { ifAvailable: true }, async (lock) => {
    if (!lock || (await mayResume(files, name, declined))) return;
    // After a reload, workers of the earlier page hold the file a little longer than the lock. A file that stays is removed by the
    // next sweep.
    await removeBoth(files, name);
  });
}

/** Removes the journal of the file `name`, so that no conversion resumes the file, and the file. Resolves to whether both are gone. */
async function removeBoth(files: FileSystemDirectoryHandle, name: string): Promise<boolean> {
  const names = [journalName(name), name];
  const gone = await Promise.all(names.map((one) => removeUnlessBusy(files, one, async () => true)));
  return gone.every(Boolean);
}

/** Whether a conversion may resume the file `name`. */
async function mayResume(
  files: FileSystemDirectoryHandle,
  name: string,
  declined: (head: string) => boolean,
): Promise<boolean> {
  try {
    await (await files.getFileHandle(name)).getFile();
    const lines = await linesOf(files, name);
    return lines?.resumePoint !== undefined && Date.now() - lines.changed < ABANDONED && !declined(lines.head);
  } catch (thrown) {
    // A missing file cannot be resumed. An unreadable one stays.
    return !isMissing(thrown);
  }
}

/** The content of a journal. */
interface Journal {
  /** Identifies the conversion. */
  head: string;
  /** The name of the image. */
  image?: string;
  /** The size of the disk, in bytes. */
  diskSize?: number;
  /** The last resume point. */
  resumePoint: ResumePoint | undefined;
  size: number;
  /** When it was last changed. */
  changed: number;
}

/** The first line of a journal: `head`, the JSON of an array, to which the name of the image and the size of its disk are added. */
export const firstLine = (head: string, image: string | undefined, diskSize: number | undefined): string =>
  JSON.stringify([...JSON.parse(head), image, diskSize]);

/** Parses a first line, also of a journal without the name of the image or the size. */
function headOf(line: string): Pick<Journal, 'head' | 'image' | 'diskSize'> {
  try {
    const [place, identity, image, diskSize]: unknown[] = JSON.parse(line);
    return {
      head: JSON.stringify([place, identity]),
      ...(typeof image === 'string' ? { image } : {}),
      ...(typeof diskSize === 'number' ? { diskSize } : {}),
    };
  } catch {
    return { head: line };
  }
}

/** Reads the journal of the file `name`; undefined if there is none. */
export async function linesOf(files: FileSystemDirectoryHandle, name: string): Promise<Journal | undefined> {
  try {
    const journal = await (await files.getFileHandle(journalName(name))).getFile();
    const lines = readLines(await journal.text());
    return lines && { ...lines, ...headOf(lines.head), size: journal.size, changed: journal.lastModified };
  } catch (thrown) {
    return unlessMissing(thrown);
  }
}

/** Takes the lock of the file `name`, and waits for a sweep of another tab; undefined if a conversion uses the file. */
const takeLock = (name: string): Promise<(() => void) | undefined> =>
  hold(lockName(name), AbortSignal.timeout(SWEPT)).catch(() => undefined);

/** Whether no conversion uses the file `name`. */
export async function isFree(name: string): Promise<boolean> {
  const release = await takeLock(name);
  release?.();
  return release !== undefined;
}

export class TemporaryFile {
  private constructor(
    readonly handle: FileSystemFileHandle,
    private readonly release: () => void,
  ) {}

  /** Creates an empty file with a new name. Sweeps leftovers first: see `sweepStorage`. */
  static async create(declined?: (head: string) => boolean): Promise<TemporaryFile> {
    const files = await storageFolder();
    // Leftovers may use up the quota. A failed sweep does not prevent a conversion.
    await sweepStorage(declined, files).catch(() => {});
    const name = crypto.randomUUID();
    const release = await hold(lockName(name));
    try {
      return new TemporaryFile(await files.getFileHandle(name, { create: true }), release);
    } catch (thrown) {
      release();
      throw thrown;
    }
  }

  /** Takes over the existing file `name`; undefined if it is in use or gone. */
  static async take(name: string): Promise<TemporaryFile | undefined> {
    const release = await takeLock(name);
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

  /** Moves it to `name` in `folder`, and replaces an existing file. */
  async moveTo(folder: FileSystemDirectoryHandle, name: string): Promise<void> {
    const journal = journalName(this.handle.name);
    await this.handle.move(folder, name);
    // A journal that stays is swept.
    await storageFolder()
      .then((files) => files.removeEntry(journal))
      .catch(() => {});
    this.release();
  }

  /** Removes the journal, so that no conversion resumes the file. Fails if the journal cannot be removed. */
  async removeJournal(): Promise<void> {
    await (await storageFolder()).removeEntry(journalName(this.handle.name)).catch(unlessMissing);
  }

  /** Releases the file without removing it. */
  leave(): void {
    this.release();
  }

  /**
   * Removes it and its journal. Resolves to whether both are gone. If a terminated worker still holds the file, it is removed
   * later, and stays locked until then.
   */
  async remove(): Promise<boolean> {
    const isGone = await this.#tryRemove().catch(() => false);
    const removed = isGone ? Promise.resolve() : this.#removeLater();
    // A file that stays is swept.
    removed.catch(() => {}).finally(() => this.release());
    return isGone;
  }

  async #removeLater(): Promise<void> {
    const until = Date.now() + HELD;
    while (!(await this.#tryRemove()) && Date.now() < until);
  }

  async #tryRemove(): Promise<boolean> {
    return removeBoth(await storageFolder(), this.name);
  }
}

/** The names of the files in use. */
export async function heldNames(): Promise<Set<string>> {
  const { held = [] } = await navigator.locks.query();
  return new Set(held.flatMap(({ name }) => (name?.startsWith(lockName('')) ? [name.slice(lockName('').length)] : [])));
}

/**
 * Requests persistent storage if `size` bytes may not fit otherwise: some browsers give it a larger quota. Firefox asks the
 * person. Failures are ignored: whether the bytes fit is known only when the file gets its size, since Chromium's estimate is
 * at most 10 GiB. Fails only with `cancelled`.
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
