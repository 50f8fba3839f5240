// Browsers: the temporary file of a spooled output, in the origin's private file system.

import { DecantError } from '../../errors/errors.js';
import type { TargetSpec } from '../../messages/messages.js';
import type { OpenedSource } from '../../sources/opened-source.js';
import { type ReadSpool, requireSize, type Sizes, type Spool } from '../output-target.js';
import { askForRoom, TemporaryFile } from './storage.js';

export class StoredSpool implements Spool {
  #file: TemporaryFile | undefined;
  #size: number | undefined;

  /** `otherwise`: what works without the file, as the end of a sentence. */
  constructor(private readonly otherwise: string) {}

  /** The coordinator sets the size of the file, if it is known, before anything is read: this shows if there is room. */
  async prepare({ outputSize }: Sizes, signal: AbortSignal): Promise<TargetSpec> {
    this.#size = outputSize;
    this.#file = await TemporaryFile.create();
    if (outputSize !== undefined) await askForRoom(outputSize, signal);
    return { opfs: this.#file.name, sized: outputSize !== undefined };
  }

  async whole(size: number): Promise<ReadSpool> {
    const file = await this.#whole(size);
    return async (offset, length) => new Uint8Array(await file.slice(offset, offset + length).arrayBuffer());
  }

  async source(size: number): Promise<OpenedSource> {
    const blob = await this.#whole(size);
    return {
      spec: { blob },
      identity: this,
      name: undefined,
      size,
      verify: async () => {},
      close: () => this.remove(),
    };
  }

  full(reason: DecantError): DecantError {
    const size = this.#size;
    const need = size === undefined ? '' : ` of ${size} bytes`;
    const message = `The browser's storage has no room for the temporary file${need} ('spool'); free some space, or ${this.otherwise}`;
    return new DecantError('target', message, {
      code: 'spool-full',
      fields: size === undefined ? {} : { size },
      cause: reason,
    });
  }

  /** A file that cannot be removed now is swept. */
  async remove(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.remove();
  }

  async #whole(size: number): Promise<File> {
    const file = await this.#file!.handle.getFile();
    requireSize(file.size, size, 'the temporary file');
    return file;
  }
}
