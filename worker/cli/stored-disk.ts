// The disk of an image that comes in order, stored in a temporary file: a comparison reads it at any position.

import { fdatasync, ftruncate, write } from 'node:fs';
import { promisify } from 'node:util';
import { fileError } from '../errors/file-error.js';
import { shownText } from '../errors/shown.js';
import { type AnyImage, type DiskImage, open, type Target } from '../node.js';
import { SpoolFile, spoolFolder } from '../targets/node/spool-file.js';
import { explainFull } from '../targets/output-target.js';
import { report } from './printing.js';
import { progressLine } from './progress.js';
import type { RunContext } from './run-context.js';

export interface StoringArguments {
  spool: string | undefined;
  /** The files that the command reads. */
  read: readonly string[];
  quiet: boolean;
  progress: boolean;
}

/** Runs `work` with the disk of `image`. One that comes in order is stored in a temporary file first, which is removed after that. */
export async function stored<T>(
  image: AnyImage,
  { spool, read, quiet, progress }: StoringArguments,
  { signal }: RunContext,
  work: (image: DiskImage) => Promise<T>,
): Promise<T> {
  if (!image.streamed) return work(image);
  const folder = spool ?? spoolFolder();
  const { name = 'the disk' } = image.info;
  if (!quiet) report(`note: storing the disk of '${shownText(name)}' in a temporary file in '${shownText(folder)}'`);
  const file = new StoredDisk(folder, read);
  try {
    const line = progressLine({ progress, quiet }, 'storing ');
    const { notices } = await image
      .convert(file, { signal, onProgress: (now) => line.show(now) })
      .finally(() => line.end());
    if (!quiet) for (const { message } of notices) report(`note: ${message}`);
    const disk = (await open(file.path, { inputFormat: 'raw', name, signal })) as DiskImage;
    try {
      return await work(disk);
    } finally {
      await disk.close();
    }
  } finally {
    await file.remove();
  }
}

/** A temporary file as the target of a conversion. If the process is killed, the next command that writes to the folder removes it. */
class StoredDisk implements Target {
  path = '';
  #fd = -1;
  #preparing: Promise<unknown> | undefined;
  #size = 0;
  /** Changes of the file that are under way: only after them, the descriptor may be closed. */
  readonly #changes = new Set<Promise<void>>();
  readonly #spool: SpoolFile;

  constructor(folder: string, read: readonly string[]) {
    this.#spool = new SpoolFile({ folder, sources: [], read, dense: false, otherwise: 'unpack the image yourself' });
  }

  async open({ virtualSize, outputSize }: { virtualSize?: number; outputSize?: number }): Promise<undefined> {
    const preparing = this.#spool.prepare({ virtualSize, outputSize });
    // A cancel does not wait for it.
    this.#preparing = preparing;
    const { file } = await preparing;
    this.path = file.path.toString();
    this.#fd = file.fd;
  }

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    await this.#change(async () => {
      for (let at = 0; at < bytes.length; ) {
        const { bytesWritten } = await promisify(write)(this.#fd, bytes, at, bytes.length - at, offset + at);
        if (bytesWritten === 0) throw new Error('0 bytes were written');
        at += bytesWritten;
      }
    });
    await this.hole(offset, bytes.length);
  }

  async hole(offset: number, length: number): Promise<void> {
    this.#size = Math.max(this.#size, offset + length);
  }

  async close(): Promise<void> {
    await this.#change(async () => {
      await promisify(ftruncate)(this.#fd, this.#size);
      // Otherwise a write that fails late would be read back as zeros.
      await promisify(fdatasync)(this.#fd);
    });
  }

  /** `stored` removes the file. */
  async abort(): Promise<void> {}

  async remove(): Promise<void> {
    await Promise.allSettled([this.#preparing, ...this.#changes]);
    await this.#spool.remove();
  }

  async #change(work: () => Promise<void>): Promise<void> {
    const change = work();
    this.#changes.add(change);
    try {
      await change;
    } catch (thrown) {
      throw explainFull(this.#spool, fileError(thrown, 'target', 'write the temporary file'));
    } finally {
      this.#changes.delete(change);
    }
  }
}
