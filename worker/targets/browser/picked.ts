// Files from pickers: the browser writes to a swap file and replaces the file when it is closed.

import { cancelled, DecantError, orCancelled } from '../../errors/errors.js';
import type { TargetSpec } from '../../messages/messages.js';
import type { OpenedSource } from '../../sources/opened-source.js';
import { claimHandle } from '../claims.js';
import { loadCustomTargets } from '../custom-output.js';
import type { CustomTarget } from '../custom-target.js';
import { type OutputTarget, requireSize, type Sizes } from '../output-target.js';
import { isNamed, refuseSources, removeUnlessBusy, sourceOf, unlessMissing } from './entries.js';

/** A file by its handle. It is never removed, since it may have existed before. */
export class PickedTarget implements OutputTarget {
  // The browser shows the bytes only after the file was replaced.
  readonly readsBack = 'after';
  #stream: CustomTarget | undefined;
  /** The file as it was at the start. */
  #before: File | undefined;
  /** The file as it was after it was replaced by the output. */
  written: File | undefined;
  /** Ends the claim on the file. */
  #release = () => {};

  /** With `isClaimed`, the caller has claimed the file. */
  constructor(
    private readonly handle: FileSystemFileHandle,
    private readonly sources: OpenedSource[],
    private readonly isClaimed = false,
  ) {}

  get failure(): DecantError | undefined {
    return this.#stream?.failure;
  }

  async prepare(sizes: Sizes, signal: AbortSignal): Promise<TargetSpec> {
    if (!('createWritable' in this.handle)) {
      throw new DecantError('usage', 'This browser cannot write to a file by its handle; choose another output');
    }
    if (!this.isClaimed) this.#release = await claimHandle(this.handle);
    await orCancelled(signal, refuseSources(this.handle, this.sources));
    this.#before = await this.handle.getFile().catch(unlessMissing);
    if (canBeSent(this.handle)) return { picked: this.handle };
    // As with a worker, the file is replaced only when the stream is closed.
    const { customTarget } = await orCancelled(signal, loadCustomTargets());
    this.#stream = customTarget(await this.handle.createWritable({ mode: 'exclusive' }));
    return this.#stream.prepare(sizes, signal);
  }

  async verify(): Promise<void> {
    // A removed file is created again, and an empty one has nothing to lose.
    const now = await this.handle.getFile().catch(unlessMissing);
    const { size, lastModified } = this.#before ?? {};
    if (!now?.size || (now.size === size && now.lastModified === lastModified)) return;
    const { name } = this.handle;
    throw new DecantError(
      'target',
      `Another program has changed '${name}' during the conversion; choose another output`,
      {
        code: 'target-changed',
      },
    );
  }

  async commit(size: number, signal: AbortSignal): Promise<void> {
    await this.#stream?.commit(size, signal);
    this.written = await this.handle.getFile();
    requireSize(this.written.size, size);
    this.#release();
  }

  async readBack(): Promise<OpenedSource> {
    return sourceOf(this.written!);
  }

  async remove(isWrong: boolean): Promise<void> {
    const now = isWrong
      ? 'was replaced by the faulty disk'
      : 'was already replaced by the new disk, which is not verified';
    throw new DecantError('target', `'${this.handle.name}' ${now}`);
  }

  async discard(reason: DecantError): Promise<void> {
    try {
      await this.#stream?.discard(reason, false);
    } finally {
      this.#release();
    }
  }
}

/** A file in a picked folder. It is created if it does not exist. */
export class FolderTarget implements OutputTarget {
  readonly readsBack = 'after';
  #picked: PickedTarget | undefined;
  /** The file, if it was created here. */
  #madeHere: FileSystemFileHandle | undefined;
  /** The file that was created here, once it has the output. */
  #complete: FileSystemFileHandle | undefined;
  /** Ends the claim on the file. */
  #release = () => {};

  constructor(
    private readonly folder: FileSystemDirectoryHandle,
    private readonly name: string,
    private readonly sources: OpenedSource[],
  ) {
    if (typeof name !== 'string' || name === '' || name.includes('/')) {
      throw new DecantError('usage', 'An output in a folder needs the name of a file');
    }
    if (typeof folder?.getFileHandle !== 'function') {
      throw new DecantError('usage', "'folder' must be a handle of a folder");
    }
  }

  get failure(): DecantError | undefined {
    return this.#picked?.failure;
  }

  async prepare(sizes: Sizes, signal: AbortSignal): Promise<TargetSpec> {
    const existing = await this.folder.getFileHandle(this.name).catch(unlessMissing);
    const handle =
      existing ??
      (await this.folder
        .getFileHandle(this.name, { create: true })
        .catch((thrown) => notMade(thrown, this.folder.name, this.name)));
    // Before the file counts as created here: another conversion may have created it at the same time.
    this.#release = await claimHandle(handle);
    this.#picked = new PickedTarget(handle, this.sources, true);
    // Another program may have created it since the check.
    if (!existing && (await handle.getFile()).size === 0) this.#madeHere = handle;
    return this.#picked.prepare(sizes, signal);
  }

  async verify(): Promise<void> {
    await this.#picked!.verify();
  }

  async commit(size: number, signal: AbortSignal): Promise<void> {
    await this.#picked!.commit(size, signal);
    // A replaced file cannot be restored, but a new file can be removed: the cancel still counts.
    if (this.#madeHere && signal.aborted) throw cancelled();
    this.#complete = this.#madeHere;
    this.#madeHere = undefined;
    this.#release();
  }

  readBack(): Promise<OpenedSource> {
    return this.#picked!.readBack();
  }

  async remove(isWrong: boolean): Promise<void> {
    if (!this.#complete) return this.#picked!.remove(isWrong);
    if (await this.#remove(this.#complete)) return;
    const disk = isWrong ? 'the faulty disk' : 'a disk that is not verified';
    throw new DecantError('target', `'${this.name}' with ${disk} could not be removed from '${this.folder.name}'`);
  }

  async discard(reason: DecantError): Promise<void> {
    try {
      await this.#discard(reason);
    } finally {
      this.#release();
    }
  }

  async #discard(reason: DecantError): Promise<void> {
    await this.#picked?.discard(reason);
    const made = this.#madeHere;
    const isGone = !made || (await this.#remove(made));
    if (isGone && (await isThere(this.folder))) return;
    const files = [...(made ? [this.name] : []), ...(isGone ? [`${this.name}${SWAP}`] : [])];
    throw new DecantError(
      'target',
      `${files.map((file) => `'${file}'`).join(' and ')} may be left in '${this.folder.name}'${isGone ? ', which was moved, renamed or removed' : ''}`,
    );
  }

  /** Removes the file unless another program has written to it. Resolves to whether the file is gone, or not ours. */
  async #remove(made: FileSystemFileHandle): Promise<boolean> {
    const { written } = this.#picked ?? {};
    const isOurs = async () => {
      const file = await made.getFile().catch(unlessMissing);
      // Other content was written by another program.
      if (!file) return false;
      return file.size === 0 || (file.size === written?.size && file.lastModified === written.lastModified);
    };
    return removeUnlessBusy(this.folder, this.name, isOurs);
  }
}

/** Throws the reason why the file `name` could not be created in `folder`. */
function notMade(cause: unknown, folder: string, name: string): never {
  // Chromium throws this for a read-only folder: a missing file cannot be in use.
  if (isNamed(cause, 'NoModificationAllowedError')) {
    throw new DecantError('target', `The folder '${folder}' is read-only; choose another one`, {
      code: 'folder-read-only',
      fields: { folder },
      cause,
    });
  }
  // The browser does not allow the name, or it is too long for the file system.
  if (cause instanceof TypeError || isNamed(cause, 'InvalidStateError')) {
    throw new DecantError(
      'target',
      `The folder '${folder}' does not allow the file name '${name}'; choose another name`,
      {
        code: 'name-refused',
        fields: { folder, name },
        cause,
      },
    );
  }
  throw cause;
}

/** The suffix of Chromium's swap files. */
const SWAP = '.crswap';

/** Whether the folder is still where it was picked. */
async function isThere(folder: FileSystemDirectoryHandle): Promise<boolean> {
  const first = await folder.keys().next().catch(unlessMissing);
  return first !== undefined;
}

/** Whether a handle can be sent to a worker. WebKit cannot do so. */
function canBeSent(handle: FileSystemFileHandle): boolean {
  try {
    structuredClone(handle);
    return true;
  } catch {
    return false;
  }
}
