// The browser's implementation of `WorkerHost`.

import { Instance } from 'decant-module';
import { DecantError, isStorageFull, outOfMemory, storageFull } from '../errors/errors.js';
import { FOLDER, journalName, type Resume } from '../messages/messages.js';
import type { Port } from '../messages/rpc.js';
import { Sha256 } from '../targets/sha256-hasher.js';
import { makeBodies } from '../upload/body-maker.js';
import { BlobFile } from './blob-file.js';
import { PortTarget } from './port-target.js';
import { StorageJournal } from './storage-journal.js';
import { nowhere, type ObjectTarget, type OpenTarget, type WorkerHost } from './worker-host.js';

const port: Port = {
  post: (message, transfer = []) => globalThis.postMessage(message, { transfer }),
  listen: (message) => globalThis.addEventListener('message', ({ data }) => message(data)),
};

/** About 130 MiB: shorter streams are not faster than slices. */
const JOBS_IN_ROW = 12;

/** Whether several workers can have one file open for writing: only in Chromium. */
const canShare = (): boolean =>
  typeof FileSystemSyncAccessHandle !== 'undefined' && 'mode' in FileSystemSyncAccessHandle.prototype;

async function storageFolder(): Promise<FileSystemDirectoryHandle> {
  const root = await navigator.storage.getDirectory();
  return root.getDirectoryHandle(FOLDER);
}

/** A temporary file by its name: not every browser can send handles. */
const temporaryFile = async (name: string): Promise<FileSystemFileHandle> =>
  (await storageFolder()).getFileHandle(name);

/**
 * Whether the browser has sync handles: WebKit on Linux does not. Tries it with an extra file: after a failure, WebKit opens no
 * stream for the file either.
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
    // Any other failure concerns only this file.
    return !(thrown instanceof DOMException && thrown.name === 'NotSupportedError');
  } finally {
    // If it cannot be removed now, it is swept later.
    await folder.removeEntry(name).catch(() => {});
  }
}

let hasSyncHandles: boolean | undefined;

/** Opens a sync handle; undefined if the browser has none. */
async function syncHandle(file: FileSystemFileHandle): Promise<FileSystemSyncAccessHandle | undefined> {
  hasSyncHandles ??= await trySyncHandles();
  return hasSyncHandles ? file.createSyncAccessHandle() : undefined;
}

/** How long a terminated worker may still hold a file, in milliseconds. */
const HELD_MS = 3000;
/** The pause between two attempts, in milliseconds. */
const PAUSE_MS = 50;

/** Opens a file that a terminated worker may still hold. */
async function patiently<T>(open: () => Promise<T>): Promise<T> {
  const start = performance.now();
  for (;;) {
    try {
      return await open();
    } catch (thrown) {
      const isHeld = thrown instanceof DOMException && thrown.name === 'NoModificationAllowedError';
      if (!isHeld || performance.now() - start > HELD_MS) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/**
 * Sets the length of a file and clears the bytes after the first `kept`. Resolves to whether the file has the length: full
 * storage does not always throw.
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
 * Opens the journal of the temporary file `name`; undefined if it cannot be written: then the file cannot be resumed later. A
 * journal that is being resumed must be opened before the file is changed, so that no terminated worker still writes to it;
 * otherwise this fails.
 */
async function journalFor(
  name: string,
  resume: Resume,
  flushData: () => Promise<void>,
): Promise<StorageJournal | undefined> {
  const resumes = resume.resumePoint.guest > 0;
  let handle: FileSystemSyncAccessHandle | undefined;
  try {
    const file = await (await storageFolder()).getFileHandle(journalName(name), { create: true });
    handle = await (resumes ? patiently(() => syncHandle(file)) : syncHandle(file));
    return handle && StorageJournal.begin(handle, resume, flushData);
  } catch (thrown) {
    handle?.close();
    if (resumes) throw thrown;
    return undefined;
  }
}

/** Flushes a file to the disk. */
async function flush(open: () => Promise<FileSystemSyncAccessHandle>): Promise<void> {
  const handle = await open();
  try {
    handle.flush();
  } finally {
    handle.close();
  }
}

/** Opens a file that appears, or is replaced, when it is completed. */
async function replacing(file: FileSystemFileHandle): Promise<OpenTarget> {
  // Exclusive: the second of two conversions to one file fails, instead of overwriting the first.
  const writable = await file.createWritable({ mode: 'exclusive' });
  return { target: { writable }, shared: false, complete: () => writable.close(), abandon: () => writable.abort() };
}

const NO_FILE = 'not a file of the private file system';

/** Returns false for an exception of full storage, and rethrows any other. */
function unlessFull(thrown: unknown): false {
  if (isStorageFull(thrown)) return false;
  throw thrown;
}

/** Opens a file that several workers write. */
const sharedHandle = (file: FileSystemFileHandle): Promise<FileSystemSyncAccessHandle> =>
  file.createSyncAccessHandle({ mode: 'readwrite-unsafe' });

/**
 * A file of known size that pool workers write, each with its own handle. The size is set and the handle closed before they
 * open it: Chromium charges the quota for growth once for each open handle, and refunds it only once when the file is removed.
 */
class SharedFile implements ObjectTarget {
  #handle: Promise<FileSystemSyncAccessHandle> | undefined;

  /** The first `kept` bytes are resumed. */
  constructor(
    private readonly file: FileSystemFileHandle,
    private readonly kept: number,
  ) {}

  async open(size: number): Promise<void> {
    if (!(await setLength(this.file, size, this.kept).catch(unlessFull))) throw storageFull(size);
  }

  /** Writes the few bytes that no job writes: headers and footers. */
  async write(offset: number, bytes: Uint8Array): Promise<void> {
    // A copy: `bytes` may be in wasm memory, which may change while the file is opened.
    const kept = bytes.slice();
    this.#handle ??= sharedHandle(this.file);
    const written = (await this.#handle).write(kept, { at: offset });
    if (written !== kept.length) throw storageFull(offset + kept.length);
  }

  async close(): Promise<void> {
    const handle = await this.#handle;
    handle?.close();
  }

  /** Waits for a handle that is being opened: it would prevent the removal of the file. */
  async abort(): Promise<void> {
    await this.close();
  }
}

/** Opens a temporary file that only this worker writes. */
async function openAlone(file: FileSystemFileHandle, resume: Resume | undefined): Promise<OpenTarget> {
  let handle: FileSystemSyncAccessHandle | undefined;
  const flushData = async () => {
    try {
      handle!.flush();
    } catch {
      // The handle is closed already, at the end of the conversion.
      await flush(() => file.createSyncAccessHandle());
    }
  };
  const journal = resume && (await journalFor(file.name, resume, flushData));
  const kept = resume?.resumePoint.guest ?? 0;
  try {
    handle = await (kept > 0 ? patiently(() => syncHandle(file)) : syncHandle(file));
    if (!handle) {
      if (kept > 0) throw new DecantError('target', 'Could not write the output: this browser cannot resume it');
      await journal?.end(false);
      return await replacing(file);
    }
    // Bytes after the resume point may be incomplete.
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

  jobsInRow: JOBS_IN_ROW,

  file(spec, inRow) {
    if ('blob' in spec) return new BlobFile(spec.blob, inRow);
    throw new Error('not a file of a browser');
  },

  async openTarget(spec) {
    if ('picked' in spec) return replacing(spec.picked);
    if ('nowhere' in spec) return { target: { object: nowhere }, shared: false };
    if ('port' in spec) {
      if (spec.bodies) makeBodies(spec.bodies.port, spec.bodies.digests);
      return { target: { object: new PortTarget(spec) }, shared: false };
    }
    if (!('opfs' in spec)) throw new Error(NO_FILE);
    const file = await temporaryFile(spec.opfs);
    const { resume, sized } = spec;
    if (sized && canShare()) {
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

  async sha256(load) {
    const crypt = await load();
    return () => {
      const instance = Instance.create('crypt', crypt);
      if (!instance) throw outOfMemory(undefined, crypt.length);
      return new Sha256(instance);
    };
  },
};
