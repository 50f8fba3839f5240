// A file in the origin's private file system: written under a temporary name, then moved.

import { DecantError } from '../../errors/errors.js';
import type { TargetSpec } from '../../messages/messages.js';
import { FOLDER } from '../../messages/messages.js';
import type { OpenedSource } from '../../sources/opened-source.js';
import { claimOutput } from '../claims.js';
import type { OutputTarget, Sizes } from '../output-target.js';
import { refuseSources, unlessMissing } from './entries.js';
import { storageRoot } from './storage.js';
import { StoredOutput } from './stored-output.js';

export class OpfsTarget extends StoredOutput implements OutputTarget {
  /** The existing file at the start, which may be replaced. */
  #before: File | undefined;
  readonly #folders: string[];
  readonly #name: string;
  /** Ends the claim on the output. */
  #release = () => {};

  constructor(
    private readonly path: string,
    private readonly sources: OpenedSource[],
  ) {
    if (typeof path !== 'string') throw new DecantError('usage', "'opfs' must be a string");
    const names = path.split('/');
    if (names.some((name) => ['', '.', '..'].includes(name)) || names[0] === FOLDER) {
      throw new DecantError('usage', `'${path}' is not a valid file name in the browser's storage`);
    }
    super(`opfs:${path}`, sources[0]?.name);
    this.#name = names.pop()!;
    this.#folders = names;
  }

  override async prepare(sizes: Sizes, signal: AbortSignal, identity?: string): Promise<TargetSpec> {
    this.#release = claimOutput(`'${this.path}'`, [`opfs:${this.path}`]);
    await this.#refuse();
    return super.prepare(sizes, signal, identity, identity === undefined);
  }

  async commit(size: number): Promise<void> {
    await this.whole(size);
    let folder = await storageRoot();
    for (const name of this.#folders) folder = await folder.getDirectoryHandle(name, { create: true });
    // The lock makes the check and the move atomic among conversions to the same name.
    await navigator.locks.request(`decant:to:${this.path}`, async () => {
      const now = await (await folder.getFileHandle(this.#name).catch(unlessMissing))?.getFile();
      const { size, lastModified } = this.#before ?? {};
      if (now && (now.size !== size || now.lastModified !== lastModified)) {
        throw new DecantError('target', `'${this.path}' was changed during the conversion; choose another output`, {
          code: 'target-changed',
        });
      }
      await this.file.moveTo(folder, this.#name);
    });
    await this.removeOthers();
    this.#release();
  }

  override async discard(reason: DecantError, keep: boolean): Promise<void> {
    try {
      await super.discard(reason, keep);
    } finally {
      this.#release();
    }
  }

  /** Fails early if the output is a source, is a folder, or has a file as its folder. */
  async #refuse(): Promise<void> {
    try {
      let folder = await storageRoot();
      for (const name of this.#folders) folder = await folder.getDirectoryHandle(name);
      const there = await folder.getFileHandle(this.#name);
      await refuseSources(there, this.sources);
      this.#before = await there.getFile();
    } catch (thrown) {
      unlessMissing(thrown);
    }
  }
}
