// A file in the origin's private file system: written under a temporary name, moved when complete.

import { DecantError } from '../errors.js';
import type { Route, TargetSpec } from './route.js';
import { FOLDER, TemporaryFile } from './storage.js';

export class OpfsRoute implements Route {
  #file: TemporaryFile | undefined;
  readonly #folders: string[];
  readonly #name: string;

  constructor(path: string) {
    const names = path.split('/');
    if (names.some((name) => ['', '.', '..'].includes(name)) || names[0] === FOLDER) {
      throw new DecantError('usage', `'${path}' is no name for a file in the browser's storage`);
    }
    this.#name = names.pop()!;
    this.#folders = names;
  }

  async prepare(virtualSize: number): Promise<TargetSpec> {
    await this.#requireNoFolder();
    this.#file = await TemporaryFile.create(virtualSize);
    return { opfs: this.#file.handle };
  }

  async commit(): Promise<void> {
    let folder = await navigator.storage.getDirectory();
    for (const name of this.#folders) folder = await folder.getDirectoryHandle(name, { create: true });
    await this.#file?.moveTo(folder, this.#name);
  }

  async discard(): Promise<void> {
    await this.#file?.remove();
  }

  /** Noticed before the work and not after it: a folder of the file's name, a file of a folder's. */
  async #requireNoFolder(): Promise<void> {
    try {
      let folder = await navigator.storage.getDirectory();
      for (const name of this.#folders) folder = await folder.getDirectoryHandle(name);
      await folder.getFileHandle(this.#name);
    } catch (thrown) {
      if (!(thrown instanceof DOMException && thrown.name === 'NotFoundError')) throw thrown;
    }
  }
}
