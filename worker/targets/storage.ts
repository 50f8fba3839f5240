// Temporary files in the origin's private file system. A Web Lock of a file's name tells that
// somebody needs it; what nobody needs any more is swept.

import { cancelled, DecantError, orCancelled } from '../errors.js';
import { FOLDER, PROTOCOL } from '../storage-folder.js';
import { removeUnlessBusy } from './remove.js';

/** Outside of a secure context neither is there, whatever the types say. */
const hasStorage = (): boolean => navigator.storage !== undefined && navigator.locks !== undefined;

const noStorage = (reason: string, options?: ErrorOptions): DecantError =>
  new DecantError('usage', `This way to save needs the browser's private storage, which ${reason}`, options);

/** The private file system's root. Fails with `usage` where a page has none: each browser throws its own error then. */
export async function storageRoot(): Promise<FileSystemDirectoryHandle> {
  if (!globalThis.isSecureContext) throw noStorage('a page has only over https or on localhost');
  if (!hasStorage()) throw noStorage('this browser does not have');
  try {
    return await navigator.storage.getDirectory();
  } catch (cause) {
    throw noStorage('this page is not given, perhaps since the window is a private one', { cause });
  }
}

async function folder(): Promise<FileSystemDirectoryHandle> {
  return (await storageRoot()).getDirectoryHandle(FOLDER, { create: true });
}

const lockName = (file: string) => `${PROTOCOL}:${file}`;

/** Takes the lock `name` until the returned function is called. */
async function hold(name: string): Promise<() => void> {
  return new Promise((held, failed) => {
    navigator.locks.request(name, () => new Promise<void>((release) => held(() => release()))).catch(failed);
  });
}

/** Removes temporary files whose tab is gone. */
export async function sweep(): Promise<void> {
  if (!hasStorage()) return;
  const files = await folder();
  for await (const name of files.keys()) {
    await navigator.locks.request(lockName(name), { ifAvailable: true }, async (lock) => {
      // A file that cannot be removed now is removed the next time.
      if (lock) await files.removeEntry(name).catch(() => {});
    });
  }
}

export class TemporaryFile {
  private constructor(
    readonly handle: FileSystemFileHandle,
    private readonly release: () => void,
  ) {}

  /** An empty file with a name that was never used. */
  static async create(): Promise<TemporaryFile> {
    const files = await folder();
    // It may count as used until it is gone; one that cannot be removed is no reason not to work.
    await sweep().catch(() => {});
    const name = crypto.randomUUID();
    const release = await hold(lockName(name));
    try {
      return new TemporaryFile(await files.getFileHandle(name, { create: true }), release);
    } catch (thrown) {
      release();
      throw thrown;
    }
  }

  get name(): string {
    return this.handle.name;
  }

  /** Gives it the name `name` in `folder` and replaces what was there. */
  async moveTo(folder: FileSystemDirectoryHandle, name: string): Promise<void> {
    await this.handle.move(folder, name);
    this.release();
  }

  async remove(): Promise<void> {
    try {
      // What is left is swept the next time.
      await removeUnlessBusy(await folder(), this.handle.name, async () => true);
    } finally {
      this.release();
    }
  }
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
