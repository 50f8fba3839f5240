// A download: a temporary file in the origin's private file system, then a link to it. Once the
// link is out, the file is only ever removed: a change would spoil the download, silently. The tab
// keeps the file's lock, since no event tells when a download has ended.

import { DecantError } from '../errors.js';
import type { Route, TargetSpec } from './route.js';
import { TemporaryFile } from './storage.js';

export class DownloadRoute implements Route {
  #file: TemporaryFile | undefined;

  constructor(private readonly name: string) {
    if (typeof document === 'undefined') throw new DecantError('usage', 'A download can be started by a page only');
    if (name === '') throw new DecantError('usage', 'A download needs a name');
  }

  async prepare(virtualSize: number): Promise<TargetSpec> {
    this.#file = await TemporaryFile.create(virtualSize);
    return { opfs: this.#file.handle };
  }

  async commit(): Promise<void> {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(await this.#file!.handle.getFile());
    link.download = this.name;
    link.click();
  }

  async discard(): Promise<void> {
    await this.#file?.remove();
  }
}
