// A worker thread of Node.

import { fsync, ftruncate, readSync, write, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { parentPort } from 'node:worker_threads';
import type { DecantError } from '../errors/errors.js';
import { fileError } from '../errors/file-error.js';
import type { OpenFile, TargetSpec } from '../messages/messages.js';
import { type Descriptor, openForReading, openForWriting } from './open-file.js';
import { PortTarget } from './port-target.js';
import type { ObjectSource, ObjectTarget, WorkerHost } from './worker-host.js';

/** Larger writes are no faster. */
const WRITE = 1 << 20;
const ZEROS = new Uint8Array(WRITE);
/** Where zeros are written, those between data that are fewer than this, in bytes, are written with it. */
const SHORT_HOLE = 1 << 20;

/** How long a worker may read and decode before it looks for messages, a cancel for instance; in milliseconds. */
const TURN = 20;
let turnBegan = performance.now();

/** Lets messages in, now and then. */
function rest(): Promise<void> | undefined {
  if (performance.now() - turnBegan < TURN) return undefined;
  return new Promise((done) =>
    setImmediate(() => {
      turnBegan = performance.now();
      done();
    }),
  );
}

/** An open file as the crate reads it: straight into its memory, which needs neither a buffer nor a copy. */
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
        if (read === 0) throw new Error('it was cut while it was read');
        at += read;
      }
    } catch (thrown) {
      throw fileError(thrown, 'source', 'read the image');
    }
    return rest();
  }
}

/** An open file as the crate writes it. */
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
        if (written === 0) throw tookNothing();
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

  /** Without blocking, since a coordinator does it while pool workers write. */
  async #fill(offset: number, length: number): Promise<void> {
    for (let at = 0; at < length && !this.#aborted; ) {
      const zeros = Math.min(ZEROS.length, length - at);
      const { bytesWritten } = await this.#done(promisify(write)(this.file.fd, ZEROS, 0, zeros, offset + at));
      if (bytesWritten === 0) throw this.#failure(tookNothing());
      at += bytesWritten;
    }
  }

  async close(): Promise<void> {
    if (this.sync) await this.#done(promisify(fsync)(this.file.fd));
    this.file.close();
  }

  /** Afterwards nothing is written any more: the number of the file may soon be another one's. */
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

const tookNothing = (): Error => new Error('the system took no byte of it');

function openFile(spec: TargetSpec): { object: FileTarget; close: () => void } {
  if (!('file' in spec)) throw new Error('no file of Node');
  const file = openForWriting(spec.file);
  return { object: new FileTarget(file, spec.name, spec.inPlace, spec.dense, spec.sync), close: () => file.close() };
}

export const nodeHost: WorkerHost = {
  port: {
    post: (message, transfer = []) => parentPort!.postMessage(message, transfer as ArrayBuffer[]),
    listen: (message) => parentPort!.on('message', message),
  },
  // Node has this one only.
  file: (spec) => ('file' in spec ? new FileSource(spec.file, spec.size) : spec.blob),
  openTarget: async (spec) =>
    'port' in spec
      ? { target: { object: new PortTarget(spec) }, shared: false }
      : { target: { object: openFile(spec).object }, shared: true },
  openHandle: async (spec) => {
    const { object, close } = openFile(spec);
    return { handle: { object }, close };
  },
};
