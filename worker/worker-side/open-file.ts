// Files that the calling side has open, in threads of Node, Bun and Deno.

import { Buffer } from 'node:buffer';
import { closeSync, fstatSync, openSync } from 'node:fs';
import process from 'node:process';
import type { OpenFile } from '../messages/messages.js';

/** Threads of Deno do not share file descriptors. */
const isShared = process.versions.deno === undefined;

/** A file descriptor of this thread. */
export interface Descriptor {
  readonly fd: number;
  /** Closes a descriptor of this thread. Descriptors of the calling side stay open. */
  close(): void;
}

/** Opens the file in this thread. Throws if the path leads to another file by now. */
function openAgain({ path, device, inode }: OpenFile, flags: 'r' | 'r+'): Descriptor {
  const fd = openSync(typeof path === 'string' ? path : Buffer.from(path), flags);
  const { dev, ino } = fstatSync(fd, { bigint: true });
  if (dev === device && ino === inode) return { fd, close: () => closeSync(fd) };
  closeSync(fd);
  throw new Error('another file now has its name');
}

const open = (file: OpenFile, flags: 'r' | 'r+'): Descriptor =>
  isShared ? { fd: file.fd, close: () => {} } : openAgain(file, flags);

const unused = new FinalizationRegistry<Descriptor>((file) => file.close());

/** Opens for reading. The descriptor is closed when `reader` is garbage-collected: workers do not learn of the end of a source. */
export function openForReading(file: OpenFile, reader: object): number {
  const opened = open(file, 'r');
  if (!isShared) unused.register(reader, opened);
  return opened.fd;
}

/** Opens for writing. */
export const openForWriting = (file: OpenFile): Descriptor => open(file, 'r+');
