// A worker of the browser.

import { DecantError } from '../errors/errors.js';
import type { Resume } from '../messages/messages.js';
import type { Port } from '../messages/rpc.js';
import { FOLDER, journalName } from '../messages/storage-folder.js';
import { PortTarget } from './port-target.js';
import { StorageJournal } from './storage-journal.js';
import type { ObjectTarget, OpenTarget, WorkerHost } from './worker-host.js';

const port: Port = {
  post: (message, transfer = []) => globalThis.postMessage(message, { transfer }),
  listen: (message) => globalThis.addEventListener('message', ({ data }) => message(data)),
};

/** Whether several workers may have one file open for writing: Chromium only. */
const canShare = (): boolean =>
  typeof FileSystemSyncAccessHandle !== 'undefined' && 'mode' in FileSystemSyncAccessHandle.prototype;

async function storageFolder(): Promise<FileSystemDirectoryHandle> {
  const root = await navigator.storage.getDirectory();
  return root.getDirectoryHandle(FOLDER);
}

/** A temporary file, by its name: not every browser lets handles travel. */
const temporaryFile = async (name: string): Promise<FileSystemFileHandle> =>
  (await storageFolder()).getFileHandle(name);

/**
 * Whether files can be written at once, by sync handles: in WebKit on Linux they cannot. It is tried with a file of its own,
 * since one for which a handle has failed there takes no stream either.
 */
async function trySyncHandles(): Promise<boolean> {
  if (canShare()) return true;
  const folder = await storageFolder();
  const name = crypto.randomUUID();
  try {
    const file = await folder.getFileHandle(name, { create: true });
    (await file.createSyncAccessHandle()).close();
    return true;
  } catch (thrown) {
    // Any other failure is one of this file.
    return !(thrown instanceof DOMException && thrown.name === 'NotSupportedError');
  } finally {
    // What cannot be removed now is swept later.
    await folder.removeEntry(name).catch(() => {});
  }
}

let hasSyncHandles: boolean | undefined;

/** The file for writing at once, or undefined where a browser cannot. */
async function syncHandle(file: FileSystemFileHandle): Promise<FileSystemSyncAccessHandle | undefined> {
  hasSyncHandles ??= await trySyncHandles();
  return hasSyncHandles ? file.createSyncAccessHandle() : undefined;
}

/** How long a worker that was ended may still hold a file, in milliseconds, and how often that is looked at. */
const HELD = 3000;
const PAUSE = 50;

/** Opens a file that somebody may hold who ends just now. */
async function patiently<T>(open: () => Promise<T>): Promise<T> {
  const start = performance.now();
  for (;;) {
    try {
      return await open();
    } catch (thrown) {
      const isHeld = thrown instanceof DOMException && thrown.name === 'NoModificationAllowedError';
      if (!isHeld || performance.now() - start > HELD) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }
}

/**
 * Gives a file its length; answers whether it has it then: a full storage need not throw. What it has behind its first `kept`
 * bytes is zeros then.
 */
async function setLength(file: FileSystemFileHandle, length: number, kept = 0): Promise<boolean> {
  const handle = await (kept > 0 ? patiently(() => syncHandle(file)) : syncHandle(file));
  if (handle) {
    try {
      handle.truncate(kept);
      handle.truncate(length);
      return handle.getSize() === length;
    } finally {
      handle.close();
    }
  }
  const writable = await file.createWritable();
  await writable.truncate(length);
  await writable.close();
  return (await file.getFile()).size === length;
}

/**
 * The journal of the temporary file `name`; undefined where it cannot be written: then no conversion goes on with the file.
 * Where one is to be gone on with, it is opened before the file is changed, and fails where it cannot be: who has been ended
 * and still writes to it must be gone.
 */
async function journalFor(
  name: string,
  { head, resumePoint }: Resume,
  flushData: () => Promise<void>,
): Promise<StorageJournal | undefined> {
  const resumes = resumePoint.guest > 0;
  let handle: FileSystemSyncAccessHandle | undefined;
  try {
    const file = await (await storageFolder()).getFileHandle(journalName(name), { create: true });
    handle = await (resumes ? patiently(() => syncHandle(file)) : syncHandle(file));
    return handle && StorageJournal.begin(handle, head, resumePoint, flushData);
  } catch (thrown) {
    handle?.close();
    if (resumes) throw thrown;
    return undefined;
  }
}

/** Gets to the disk what was written to `file`. */
async function flush(open: () => Promise<FileSystemSyncAccessHandle>): Promise<void> {
  const handle = await open();
  try {
    handle.flush();
  } finally {
    handle.close();
  }
}

/** A file that appears, or is replaced, when it is completed. */
async function replacing(file: FileSystemFileHandle): Promise<OpenTarget> {
  // Of two conversions to one file the second one fails, instead of the last one winning.
  const writable = await file.createWritable({ mode: 'exclusive' });
  return { target: { writable }, shared: false, complete: () => writable.close(), abandon: () => writable.abort() };
}

const NO_FILE = 'no file of the private file system';

/** Of exceptions that tell that there is no more room; Firefox has one of its own, which is no DOMException. */
const FULL = ['QuotaExceededError', 'NS_ERROR_FILE_NO_DEVICE_SPACE'];

/** No more room is an answer; anything else has failed. */
function unlessFull(thrown: unknown): false {
  if (FULL.includes((thrown as { name: string }).name)) return false;
  throw thrown;
}

/** A size in decimal units: "25.2 MB". */
function decimalSize(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  let [value, unit] = [bytes, 0];
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

const tooLarge = (size: number): DecantError =>
  new DecantError(
    'target',
    `Could not write the output: the browser's storage has no room for ${decimalSize(size)}; free some space or save another way`,
    { code: 'storage-full', fields: { size } },
  );

/** Opens a file that others write, too. */
const sharedHandle = (file: FileSystemFileHandle): Promise<FileSystemSyncAccessHandle> =>
  file.createSyncAccessHandle({ mode: 'readwrite-unsafe' });

/**
 * A file of a known size whose data pool workers write, each by a handle of its own. It gets its size and is let go of before
 * they open it: a file that grows while several handles are open is charged to each of them, and removing it gives one
 * share back.
 */
class SharedFile implements ObjectTarget {
  #handle: Promise<FileSystemSyncAccessHandle> | undefined;

  /** Its first `kept` bytes are there already. */
  constructor(
    private readonly file: FileSystemFileHandle,
    private readonly kept: number,
  ) {}

  async open(size: number): Promise<void> {
    if (!(await setLength(this.file, size, this.kept).catch(unlessFull))) throw tooLarge(size);
  }

  /** For what is no job's: the few bytes that a writer adds. */
  async write(offset: number, bytes: Uint8Array): Promise<void> {
    // Opening takes time, and `bytes` may lie in wasm memory.
    const kept = bytes.slice();
    this.#handle ??= sharedHandle(this.file);
    const written = (await this.#handle).write(kept, { at: offset });
    if (written !== kept.length) throw tooLarge(offset + kept.length);
  }

  async close(): Promise<void> {
    const handle = await this.#handle;
    handle?.close();
  }

  /** One that is being opened would keep the file from being removed. */
  async abort(): Promise<void> {
    await this.close();
  }
}

/** A temporary file that this worker alone writes. */
async function openAlone(file: FileSystemFileHandle, resume: Resume | undefined): Promise<OpenTarget> {
  let handle: FileSystemSyncAccessHandle | undefined;
  const flushData = async () => {
    try {
      handle!.flush();
    } catch {
      // It is closed when all is written, or nothing more will be.
      await flush(() => file.createSyncAccessHandle());
    }
  };
  const journal = resume && (await journalFor(file.name, resume, flushData));
  const kept = resume?.resumePoint.guest ?? 0;
  try {
    handle = await (kept > 0 ? patiently(() => syncHandle(file)) : syncHandle(file));
    if (!handle) {
      if (kept > 0) throw new DecantError('target', 'Could not write the output: this browser cannot go on with it');
      await journal?.end(false);
      return await replacing(file);
    }
    // What lies behind it is not certain.
    handle.truncate(kept);
    return { target: { handle }, shared: false, journal };
  } catch (thrown) {
    handle?.close();
    await journal?.end(false);
    throw thrown;
  }
}

export const browserHost: WorkerHost = {
  port,

  file(spec) {
    if ('blob' in spec) return spec.blob;
    throw new Error('no file of a browser');
  },

  async openTarget(spec, poolWorkers) {
    if ('picked' in spec) return replacing(spec.picked);
    if ('port' in spec) return { target: { object: new PortTarget(spec) }, shared: false };
    if (!('opfs' in spec)) throw new Error(NO_FILE);
    const file = await temporaryFile(spec.opfs);
    const { resume, sized } = spec;
    if (poolWorkers && sized && canShare()) {
      const journal = resume && (await journalFor(file.name, resume, () => flush(() => sharedHandle(file))));
      return { target: { object: new SharedFile(file, resume?.resumePoint.guest ?? 0) }, shared: true, journal };
    }
    return openAlone(file, resume);
  },

  async tryLength(name, size) {
    return setLength(await temporaryFile(name), size).catch(unlessFull);
  },

  async openHandle(spec) {
    if (!('opfs' in spec)) throw new Error(NO_FILE);
    const handle = await sharedHandle(await temporaryFile(spec.opfs));
    return { handle: { handle }, close: () => handle.close() };
  },
};
