// An open file of the calling side, in a thread of Node, Bun or Deno.

import { Buffer } from 'node:buffer';
import { closeSync, fstatSync, openSync } from 'node:fs';
import process from 'node:process';
import type { OpenFile } from '../messages/messages.js';

/** Threads of Deno have file descriptors of their own. */
const isShared = process.versions.deno === undefined;

/** A file descriptor of this thread. */
export interface Descriptor {
  readonly fd: number;
  /** Leaves the calling side's open. */
  close(): void;
}

/** Fails where the path is another file's by now. */
function openAgain({ path, device, inode }: OpenFile, flags: 'r' | 'r+'): Descriptor {
  const fd = openSync(typeof path === 'string' ? path : Buffer.from(path), flags);
  const { dev, ino } = fstatSync(fd, { bigint: true });
  if (dev === device && ino === inode) return { fd, close: () => closeSync(fd) };
  closeSync(fd);
  throw new Error('another file has its name by now');
}

const open = (file: OpenFile, flags: 'r' | 'r+'): Descriptor =>
  isShared ? { fd: file.fd, close: () => {} } : openAgain(file, flags);

const unused = new FinalizationRegistry<Descriptor>((file) => file.close());

/** For reading at offsets. It is closed once `reader` is collected: nobody tells a worker that a source has been read. */
export function openForReading(file: OpenFile, reader: object): number {
  const opened = open(file, 'r');
  if (!isShared) unused.register(reader, opened);
  return opened.fd;
}

/** For writing at offsets. */
export const openForWriting = (file: OpenFile): Descriptor => open(file, 'r+');
