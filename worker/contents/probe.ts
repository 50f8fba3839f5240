// The type of probes for file systems.

import type { ByteReader } from './bytes.js';
import type { Disk } from './disk.js';
import type { FileSystem } from './disk-contents.js';

/** Recognises a file system at `start` of `disk` by its first bytes, `head`; returns `undefined` for anything else. */
export type Probe = (
  head: ByteReader,
  disk: Disk,
  start: number,
) => FileSystem | undefined | Promise<FileSystem | undefined>;

/** A `FileSystem`, without an empty label. */
export const named = (name: string, size: number, label = ''): FileSystem => ({
  name,
  size,
  ...(label === '' ? {} : { label }),
});
