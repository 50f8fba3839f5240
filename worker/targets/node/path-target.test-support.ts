// Vitest: a conversion to a path. The test acts as the coordinator.

import { ftruncateSync, lstatSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { cancelled } from '../../errors/errors.js';
import type { FileSpec, OpenFile } from '../../messages/messages.js';
import { OutputPath } from './output-path.js';
import { PathTarget } from './path.js';

/** In bytes: what a conversion of these tests writes. */
export const SIZE = 8192;

interface Options {
  sources?: ConstructorParameters<typeof PathTarget>[1];
  sync?: boolean;
  sparse?: boolean;
  existing?: boolean;
  /** The file has its final size, as when it is written in place. */
  keepsSize?: boolean;
  hasFooter?: boolean;
  identity?: string;
}

export interface ResumePoint {
  target: PathTarget;
  /** The temporary file, or the device. */
  file: OpenFile;
  /** Puts the output into its place; `size` is what should have been written. */
  commit(size?: number): Promise<void>;
  /** Gives the conversion up, as after a cancel. */
  cancel(keep?: boolean): Promise<void>;
}

/** Begins a conversion to `path` and writes all of it. */
export async function beginTo(
  path: string,
  { sources = [], identity, keepsSize, hasFooter = false, ...options }: Options = {},
): Promise<ResumePoint> {
  const target = new PathTarget(new OutputPath(path), sources, options);
  const { signal } = new AbortController();
  const sizes = { virtualSize: SIZE, outputSize: SIZE, hasFooter };
  const spec = await target.prepare(sizes, signal, identity).catch(async (thrown) => {
    await target.discard(thrown, false);
    throw thrown;
  });
  if (!('file' in spec)) throw new Error('not a file');
  const { file } = spec;
  if (!keepsSize) ftruncateSync(file.fd, SIZE);
  writeSync(file.fd, Buffer.alloc(SIZE, 'new'), 0, SIZE, 0);
  return {
    target,
    file,
    commit: (size = SIZE) =>
      target.commit(size).catch(async (thrown) => {
        // The abort may fail, and say what is left; the first failure is the result.
        await target.discard(thrown, false).catch(() => {});
        throw thrown;
      }),
    cancel: (keep = false) => target.discard(cancelled(), keep),
  };
}

/** The file at `path` as a source, with `content`. */
export function source(path: string, content = 'image'): FileSpec {
  writeFileSync(path, content);
  const fd = openSync(path, 'r');
  const { dev, ino } = statSync(path, { bigint: true });
  return { file: { fd, path, device: dev, inode: ino }, size: content.length };
}

/** The kind of the entry at `path`, or the content of a file. */
export function found(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isSymbolicLink()) return 'a link';
  return stats?.isDirectory() ? 'a folder' : stats && readFileSync(path, 'utf8');
}
