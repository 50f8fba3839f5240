// A worker thread of Node.

import { fsync, ftruncate, readSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { parentPort } from 'node:worker_threads';
import { nodeWorker } from '../platform/node-worker.js';
import { fileError } from '../routes/file-error.js';
import type { TargetSpec } from '../routes/route.js';
import * as extras from '../wasm/plain-extras/index.js';
import type { Host, ObjectSink, ObjectSource } from './host.js';

/** Larger writes are no faster. */
const WRITE = 1 << 20;

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
class FileSink implements ObjectSink {
  constructor(
    private readonly fd: number,
    readonly dense: boolean,
    private readonly sync: boolean,
  ) {}

  write(offset: number, bytes: Uint8Array): void {
    let at = 0;
    try {
      while (at < bytes.length) {
        at += writeSync(this.fd, bytes, at, Math.min(WRITE, bytes.length - at), offset + at);
      }
    } catch (thrown) {
      throw fileError(thrown, 'sink', 'write the output');
    }
  }

  async truncate(length: number): Promise<void> {
    // A device has the length it has.
    if (this.dense) return;
    await promisify(ftruncate)(this.fd, length).catch((thrown) => {
      throw fileError(thrown, 'sink', 'write the output');
    });
  }

  async close(): Promise<void> {
    if (this.sync) await promisify(fsync)(this.fd);
  }

  async abort(): Promise<void> {}
}

function openSink(spec: TargetSpec): { object: FileSink } {
  if ('fd' in spec) return { object: new FileSink(spec.fd, spec.dense, spec.sync) };
  throw new Error('no file of Node');
}

export const nodeHost: Host = {
  port: {
    post: (message, transfer = []) => parentPort!.postMessage(message, transfer as ArrayBuffer[]),
    listen: (message) => parentPort!.on('message', message),
  },
  spawnPoolWorker: () => nodeWorker(new URL('../pool.node.js', import.meta.url)),
  // Node has this one only.
  glue: async () => extras,
  source: (spec) => ('fd' in spec ? new FileSource(spec.fd, spec.size) : spec.blob),
  openTarget: async (spec) => ({ sink: openSink(spec), shared: true }),
  openShare: async (spec) => ({ sink: openSink(spec), close: () => {} }),
};
