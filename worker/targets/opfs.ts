// A file in the origin's private file system: written under a temporary name, moved when complete.

import { DecantError } from '../errors.js';
import type { TargetSpec } from '../messages.js';
import type { OpenedSource } from '../sources/opened-source.js';
import { FOLDER } from '../storage-folder.js';
import { unlessMissing } from './missing.js';
import { type Route, requireSize, type Sizes } from './route.js';
import { refuseSources } from './sources.js';
import { askForRoom, storageRoot, TemporaryFile } from './storage.js';

export class OpfsRoute implements Route {
  #file: TemporaryFile | undefined;
  /** Whether a file of the name was there at the start: the caller means to replace it. */
  #replaces = false;
  readonly #folders: string[];
  readonly #name: string;

  constructor(
    private readonly path: string,
    private readonly sources: OpenedSource[],
  ) {
    if (typeof path !== 'string') throw new DecantError('usage', "'opfs' is no string");
    const names = path.split('/');
    if (names.some((name) => ['', '.', '..'].includes(name)) || names[0] === FOLDER) {
      throw new DecantError('usage', `'${path}' is no name for a file in the browser's storage`);
    }
    this.#name = names.pop()!;
    this.#folders = names;
  }

  async prepare({ outputSize }: Sizes, signal: AbortSignal): Promise<TargetSpec> {
    await this.#refuse();
    this.#file = await TemporaryFile.create();
    if (outputSize !== undefined) await askForRoom(outputSize, signal);
    return { opfs: this.#file.name };
  }

  async commit(size: number): Promise<void> {
    const file = this.#file!;
    requireSize((await file.handle.getFile()).size, size);
    let folder = await storageRoot();
    for (const name of this.#folders) folder = await folder.getDirectoryHandle(name, { create: true });
    // Of several conversions to the name, one looks and moves at a time.
    await navigator.locks.request(`decant:to:${this.path}`, async () => {
      if (!this.#replaces && (await folder.getFileHandle(this.#name).catch(unlessMissing))) {
        throw new DecantError('sink', `Somebody else has written '${this.path}' meanwhile; choose another output`);
      }
      await file.moveTo(folder, this.#name);
    });
  }

  async discard(): Promise<void> {
    await this.#file?.remove();
  }

  /** Noticed before the work and not after it: a source, a folder of the file's name, a file of a folder's. */
  async #refuse(): Promise<void> {
    try {
      let folder = await storageRoot();
      for (const name of this.#folders) folder = await folder.getDirectoryHandle(name);
      const there = await folder.getFileHandle(this.#name);
      this.#replaces = true;
      await refuseSources(there, this.sources);
    } catch (thrown) {
      unlessMissing(thrown);
    }
  }
}
