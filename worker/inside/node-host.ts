// A worker thread of Node.

import { fsync, ftruncate, readSync, write, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { parentPort } from 'node:worker_threads';
import { fileError } from '../file-error.js';
import type { TargetSpec } from '../messages.js';
import * as extras from '../wasm/plain-extras/index.js';
import type { Host, ObjectSource, ObjectTarget } from './host.js';
import { PortTarget } from './port-target.js';

/** Larger writes are no faster. */
const WRITE = 1 << 20;
const ZEROS = new Uint8Array(WRITE);
/** On a device, zeros between data that are fewer than this, in bytes, are written with it. */
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
  constructor(
    private readonly fd: number,
    readonly size: number,
  ) {}

  read(offset: number, bytes: Uint8Array): Promise<void> | undefined {
    let at = 0;
    try {
      while (at < bytes.length) {
        const read = readSync(this.fd, bytes, at, bytes.length - at, offset + at);
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
    private readonly fd: number,
    private readonly device: boolean,
    private readonly sync: boolean,
  ) {
    if (!device) return;
    this.holes = 'filled';
    this.shortHole = SHORT_HOLE;
  }

  write(offset: number, bytes: Uint8Array): undefined {
    let at = 0;
    try {
      while (at < bytes.length) {
        const written = writeSync(this.fd, bytes, at, Math.min(WRITE, bytes.length - at), offset + at);
        if (written === 0) throw tookNothing();
        at += written;
      }
    } catch (thrown) {
      failed(thrown);
    }
  }

  async open(size: number | undefined): Promise<void> {
    // A device has the size it has.
    if (!this.device && size !== undefined) await promisify(ftruncate)(this.fd, size).catch(failed);
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
      const { bytesWritten } = await promisify(write)(
        this.fd,
        ZEROS,
        0,
        Math.min(ZEROS.length, length - at),
        offset + at,
      ).catch(failed);
      if (bytesWritten === 0) failed(tookNothing());
      at += bytesWritten;
    }
  }

  async close(): Promise<void> {
    if (this.sync) await promisify(fsync)(this.fd).catch(failed);
  }

  /** Afterwards nothing is written any more: the number of the file may soon be another one's. */
  async abort(): Promise<void> {
    this.#aborted = true;
    await Promise.allSettled(this.#filling);
  }
}

const tookNothing = (): Error => new Error('the system took no byte of it');

function failed(thrown: unknown): never {
  throw fileError(thrown, 'sink', 'write the output');
}

function openFile(spec: TargetSpec): { object: FileTarget } {
  if ('fd' in spec) return { object: new FileTarget(spec.fd, spec.device, spec.sync) };
  throw new Error('no file of Node');
}

export const nodeHost: Host = {
  port: {
    post: (message, transfer = []) => parentPort!.postMessage(message, transfer as ArrayBuffer[]),
    listen: (message) => parentPort!.on('message', message),
  },
  // Node has this one only.
  glue: async () => extras,
  file: (spec) => ('fd' in spec ? new FileSource(spec.fd, spec.size) : spec.blob),
  openTarget: async (spec) =>
    'port' in spec
      ? { target: { object: new PortTarget(spec) }, shared: false }
      : { target: openFile(spec), shared: true },
  openHandle: async (spec) => ({ handle: openFile(spec), close: () => {} }),
};
