// The path of an output, with what was there when its conversion began: where it led, and the file that may be replaced. What changes after
// that is not replaced, however long the conversion takes until it writes.

import type { BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { DecantError } from '../../errors/errors.js';
import { fileError } from '../../errors/file-error.js';
import { fromRoot, isSame, isUnwritten, pathIn, type ResolvedPath, resolvePath } from './resolved-path.js';

/** Where a path leads. */
interface Found {
  location: ResolvedPath;
  /** The file there, if there is one. */
  existing: BigIntStats | undefined;
}

export class OutputPath {
  /** The absolute path: the process may change its working directory. */
  readonly given: Buffer;
  readonly #atStart: Promise<Found>;

  constructor(readonly path: string) {
    try {
      this.given = fromRoot(path);
    } catch (thrown) {
      throw fileError(thrown, 'target', `write '${path}'`);
    }
    this.#atStart = this.#find();
    // `locate` reports the failure.
    this.#atStart.catch(() => {});
  }

  /** The name of the file. */
  get name(): string {
    return basename(this.path);
  }

  /** Resolves to this path when its start is recorded. */
  async recorded(): Promise<this> {
    // `locate` reports the failure.
    await this.#atStart.catch(() => {});
    return this;
  }

  /** Resolves to where the path leads now. Fails if it led elsewhere at the start, or if the file is not that of the start. */
  async locate(): Promise<Found> {
    const before = await this.#atStart;
    const now = await this.#find();
    if (!isSamePlace(before.location, now.location)) throw this.#moved();
    if (now.existing) this.requireUnwritten(before.existing, now.existing);
    return now;
  }

  /** Fails if the path does not lead to `location`. */
  async requireLocation(location: ResolvedPath): Promise<void> {
    const now = await resolvePath(this.path, this.given).catch((cause: unknown) => {
      throw this.#moved({ cause });
    });
    if (!isSamePlace(location, now)) throw this.#moved();
  }

  /** Fails unless `there` is the file `before`, unchanged: the caller did not ask to replace any other. */
  requireUnwritten(before: BigIntStats | undefined, there: BigIntStats): void {
    // Writes to a device may change its node.
    const isUnchanged = before && (before.isBlockDevice() ? isSame(before, there) : isUnwritten(before, there));
    if (isUnchanged) return;
    const message = `Another program has changed '${this.path}' during the conversion; choose another output`;
    throw new DecantError('target', message, { code: 'target-changed' });
  }

  async #find(): Promise<Found> {
    const location = await resolvePath(this.path, this.given);
    const existing = await stat(pathIn(location.folder, location.name), { bigint: true }).catch(unlessMissing);
    return { location, existing };
  }

  #moved(options?: ErrorOptions): DecantError {
    const message = `'${this.path}' now leads to another file; convert again`;
    return new DecantError('target', message, { code: 'target-changed', ...options });
  }
}

const isSamePlace = (a: ResolvedPath, b: ResolvedPath): boolean => a.folder.equals(b.folder) && a.name.equals(b.name);

function unlessMissing(thrown: NodeJS.ErrnoException): undefined {
  if (thrown.code !== 'ENOENT') throw thrown;
}
