// Temporary files in the origin's private file system. A Web Lock of a file's name tells that
// somebody needs it; what nobody needs any more is swept.

import { DecantError } from '../errors.js';

/** The folder of all temporary files. */
export const FOLDER = '.decant';
/** A worker that was just ended may hold its file a moment longer. */
const REMOVE_TRIES = 20;
const REMOVE_PAUSE = 50;

/** Outside of a secure context neither is there, whatever the types say. */
const hasStorage = (): boolean => navigator.storage !== undefined && navigator.locks !== undefined;

function requireStorage(): void {
  if (hasStorage()) return;
  const reason = globalThis.isSecureContext
    ? 'this browser does not have'
    : 'a page has only over https or on localhost';
  throw new DecantError('usage', `This way to save needs the browser's private storage, which ${reason}`);
}

async function folder(): Promise<FileSystemDirectoryHandle> {
  const root = await navigator.storage.getDirectory();
  return root.getDirectoryHandle(FOLDER, { create: true });
}

const lockName = (file: string) => `decant:${file}`;

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

  /** An empty file with a name that was never used, for `size` bytes. */
  static async create(size: number): Promise<TemporaryFile> {
    requireStorage();
    // A leftover that cannot be removed is no reason not to work. It may count as used until it is.
    const swept = sweep().catch(() => {});
    await requireSpace(size).catch(() => swept.then(() => requireSpace(size)));
    const name = crypto.randomUUID();
    const [release, files] = await Promise.all([hold(lockName(name)), folder()]);
    const handle = await files.getFileHandle(name, { create: true });
    return new TemporaryFile(handle, release);
  }

  /** Gives it the name `name` in `folder` and replaces what was there. */
  async moveTo(folder: FileSystemDirectoryHandle, name: string): Promise<void> {
    await this.handle.move(folder, name);
    this.release();
  }

  async remove(): Promise<void> {
    const files = await folder();
    for (let tries = 1; ; tries += 1) {
      try {
        await files.removeEntry(this.handle.name);
        break;
      } catch (thrown) {
        const gone = thrown instanceof DOMException && thrown.name === 'NotFoundError';
        // What is left is swept the next time.
        if (gone || tries === REMOVE_TRIES) break;
        await new Promise((resolve) => setTimeout(resolve, REMOVE_PAUSE));
      }
    }
    this.release();
  }
}

async function requireSpace(size: number): Promise<void> {
  const { quota = Number.POSITIVE_INFINITY, usage = 0 } = await navigator.storage.estimate();
  if (size <= quota - usage) return;
  const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  throw new DecantError(
    'sink',
    `The browser's storage has room for ${gigabytes(quota - usage)}, but the disk needs ${gigabytes(size)}; save to a place you pick instead`,
  );
}
