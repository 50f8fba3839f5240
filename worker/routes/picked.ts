// A file that the user picked: the browser writes beside it and replaces it when it is closed.

import type { Route, TargetSpec } from './route.js';

export class PickedRoute implements Route {
  /** The file as it was before, where it can be read. */
  #before: File | undefined;

  constructor(private readonly handle: FileSystemFileHandle) {}

  async prepare(): Promise<TargetSpec> {
    this.#before = await this.#file();
    return { picked: this.handle };
  }

  async commit(): Promise<void> {}

  async discard(): Promise<void> {
    const now = await this.#file();
    if (!this.#before || !now) return;
    // The save dialog makes an empty file. One that was replaced has no old content left to keep.
    const replaced = now.lastModified !== this.#before.lastModified || now.size !== this.#before.size;
    // Not part of the standard yet; where it is missing the file stays.
    if (this.#before.size === 0 || replaced) await this.handle.remove?.();
  }

  async #file(): Promise<File | undefined> {
    // Reading may be forbidden where writing is not; then nothing is removed.
    return this.handle.getFile().catch(() => undefined);
  }
}
