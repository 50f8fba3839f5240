// How file systems are told apart.

import type { ByteReader } from './bytes.js';
import type { Disk } from './disk.js';
import type { FileSystem } from './disk-contents.js';

/** Tells what begins at `start` of `disk`, by its first bytes; `undefined` if it is something else. */
export type Probe = (
  head: ByteReader,
  disk: Disk,
  start: number,
) => FileSystem | undefined | Promise<FileSystem | undefined>;

/** `label` only if there is one. */
export const named = (name: string, size: number, label = ''): FileSystem => ({
  name,
  size,
  ...(label === '' ? {} : { label }),
});
