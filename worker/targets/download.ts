// A download: a temporary file in the origin's private file system, then a link to it. Once the
// link is out, the file is only ever removed: a change would spoil the download, silently.

import { copyLifetime } from '../copy-lifetime.js';
import { DecantError } from '../errors.js';
import type { TargetSpec } from '../messages.js';
import { type Route, requireSize, type Sizes } from './route.js';
import { askForRoom, TemporaryFile } from './storage.js';

export class DownloadRoute implements Route {
  #file: TemporaryFile | undefined;

  constructor(private readonly name: string) {
    if (typeof document === 'undefined') throw new DecantError('usage', 'A download can be started by a page only');
    if (typeof name !== 'string' || name === '') throw new DecantError('usage', 'A download needs a name');
  }

  async prepare({ outputSize }: Sizes, signal: AbortSignal): Promise<TargetSpec> {
    this.#file = await TemporaryFile.create();
    if (outputSize !== undefined) await askForRoom(outputSize, signal);
    return { opfs: this.#file.name };
  }

  async commit(size: number): Promise<void> {
    const copy = this.#file!;
    const file = await copy.handle.getFile();
    requireSize(file.size, size);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(file);
    link.download = this.name;
    link.click();
    setTimeout(() => void giveBack(copy, link.href), copyLifetime(size));
  }

  async discard(): Promise<void> {
    await this.#file?.remove();
  }
}

async function giveBack(copy: TemporaryFile, url: string): Promise<void> {
  URL.revokeObjectURL(url);
  // What cannot be removed now is swept when the tab is gone.
  await copy.remove().catch(() => {});
}
