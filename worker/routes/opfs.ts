// A file in the origin's private file system: written under a temporary name, moved when complete.

import { DecantError } from '../errors.js';
import type { Route, TargetSpec } from './route.js';
import { TemporaryFile } from './storage.js';

export class OpfsRoute implements Route {
  #file: TemporaryFile | undefined;

  constructor(private readonly path: string) {
    const last = path.split('/').at(-1);
    if (!last || last === '.' || last === '..') {
      throw new DecantError('usage', `'${path}' is no name for a file in the browser's storage`);
    }
  }

  async prepare(virtualSize: number): Promise<TargetSpec> {
    this.#file = await TemporaryFile.create(virtualSize);
    return { opfs: this.#file.handle };
  }

  async commit(): Promise<void> {
    await this.#file?.moveTo(this.path);
  }

  async discard(): Promise<void> {
    await this.#file?.remove();
  }
}
