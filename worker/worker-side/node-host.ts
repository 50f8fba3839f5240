// Node's implementation of `WorkerHost`, also in threads of Bun and Deno.

import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, fsync, ftruncate, openSync, readSync, write, writeSync } from 'node:fs';
import process from 'node:process';
import { promisify } from 'node:util';
import { parentPort } from 'node:worker_threads';
import type { DecantError } from '../errors/errors.js';
import { fileError } from '../errors/file-error.js';
import type { OpenFile, TargetSpec } from '../messages/messages.js';
import { BlobFile } from './blob-file.js';
import { PortTarget } from './port-target.js';
import { nowhere, type ObjectSource, type ObjectTarget, type OpenTarget, type WorkerHost } from './worker-host.js';

/**
 * Threads of Deno do not share file descriptors. */
const isShared = process.versions.deno === undefined;

/** A file descriptor of this thread. */
interface Descriptor {
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
function openForReading(file: OpenFile, reader: object): number {
  const opened = open(file, 'r');
  if (!isShared) unused.register(reader, opened);
  return opened.fd;
}

/** Opens for writing. */
const openForWriting = (file: OpenFile): Descriptor => open(file, 'r+');

/** The maximum size of a write, in bytes: larger writes are not faster. Linux may cache an aligned MiB as one large page, and then
 * spends three times as long on finding such pages as on the write.
 */
const WRITE = 256 << 10;
const ZEROS = new Uint8Array(WRITE);
/** If holes are filled with zeros: shorter ones, in bytes, are written together with the data around them. */
const SHORT_HOLE = 1 << 20;

/** How long a worker may run before it handles messages, such as a cancel, in milliseconds. */
const TURN_MS = 20;
let turnBegan = performance.now();

/** Yields to the event loop if it is time. */
function rest(): Promise<void> | undefined {
  if (performance.now() - turnBegan < TURN_MS) return undefined;
  return new Promise((done) =>
    setImmediate(() => {
      turnBegan = performance.now();
      done();
    }),
  );
}

/** An open file as a source: reads directly into wasm memory, without a buffer or a copy. */
class FileSource implements ObjectSource {
  #fd: number | undefined;

  constructor(
    private readonly file: OpenFile,
    readonly size: number,
  ) {}

  read(offset: number, bytes: Uint8Array): Promise<void> | undefined {
    let at = 0;
    try {
      this.#fd ??= openForReading(this.file, this);
      while (at < bytes.length) {
        const read = readSync(this.#fd, bytes, at, bytes.length - at, offset + at);
        if (read === 0) throw new Error('it was truncated while it was read');
        at += read;
      }
    } catch (thrown) {
      throw fileError(thrown, 'source', 'read the image');
    }
    return rest();
  }
}

/** An open file as a target. */
class FileTarget implements ObjectTarget {
  readonly holes?: 'filled';
  readonly shortHole?: number;
  #filling = new Set<Promise<void>>();
  #aborted = false;

  constructor(
    private readonly file: Descriptor,
    private readonly name: string,
    private readonly inPlace: boolean,
    dense: boolean,
    private readonly sync: boolean,
  ) {
    if (!dense) return;
    this.holes = 'filled';
    this.shortHole = SHORT_HOLE;
  }

  write(offset: number, bytes: Uint8Array): undefined {
    let at = 0;
    try {
      while (at < bytes.length) {
        const written = writeSync(this.file.fd, bytes, at, Math.min(WRITE, bytes.length - at), offset + at);
        if (written === 0) throw nothingWritten();
        at += written;
      }
    } catch (thrown) {
      throw this.#failure(thrown);
    }
  }

  async open(size: number | undefined): Promise<void> {
    if (!this.inPlace && size !== undefined) await this.#done(promisify(ftruncate)(this.file.fd, size));
  }

  async hole(offset: number, length: number): Promise<void> {
    const filling = this.#fill(offset, length);
    this.#filling.add(filling);
    try {
      await filling;
    } finally {
      this.#filling.delete(filling);
    }
  }

  /** Asynchronous, since a coordinator does it while pool workers write. */
  async #fill(offset: number, length: number): Promise<void> {
    for (let at = 0; at < length && !this.#aborted; ) {
      const zeros = Math.min(ZEROS.length, length - at);
      const { bytesWritten } = await this.#done(promisify(write)(this.file.fd, ZEROS, 0, zeros, offset + at));
      if (bytesWritten === 0) throw this.#failure(nothingWritten());
      at += bytesWritten;
    }
  }

  async close(): Promise<void> {
    if (this.sync) await this.#done(promisify(fsync)(this.file.fd));
    this.file.close();
  }

  /** Waits for writes under way: the file descriptor may be reused for another file. */
  async abort(): Promise<void> {
    this.#aborted = true;
    await Promise.allSettled(this.#filling);
    this.file.close();
  }

  #failure(thrown: unknown): DecantError {
    return fileError(thrown, 'target', `write '${this.name}'`);
  }

  async #done<T>(work: Promise<T>): Promise<T> {
    return work.catch((thrown) => {
      throw this.#failure(thrown);
    });
  }
}

const nothingWritten = (): Error => new Error('0 bytes were written');

function openFile(spec: TargetSpec): { object: FileTarget; close: () => void } {
  if (!('file' in spec)) throw new Error('not a file of Node');
  const file = openForWriting(spec.file);
  return { object: new FileTarget(file, spec.name, spec.inPlace, spec.dense, spec.sync), close: () => file.close() };
}

export const nodeHost: WorkerHost = {
  port: {
    post: (message, transfer = []) => parentPort!.postMessage(message, transfer as ArrayBuffer[]),
    listen: (message) => parentPort!.on('message', message),
  },
  // Long streams are faster than slices in browsers only.
  jobsInRow: 1,

  file: (spec) => ('file' in spec ? new FileSource(spec.file, spec.size) : new BlobFile(spec.blob, false)),
  async openTarget(spec): Promise<OpenTarget> {
    if ('nowhere' in spec) return { target: { object: nowhere }, shared: false };
    if ('port' in spec) return { target: { object: new PortTarget(spec) }, shared: false };
    return { target: { object: openFile(spec).object }, shared: true };
  },
  openHandle: async (spec) => {
    const { object, close } = openFile(spec);
    return { handle: { object }, close };
  },
  sha256: async () => () => {
    const hash = createHash('sha256');
    return { add: (bytes) => void hash.update(bytes), end: () => hash.digest() };
  },
};
