// A worker thread of Node.

import { fsync, ftruncate, read, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { parentPort } from 'node:worker_threads';
import { nodeWorker } from '../platform/node-worker.js';
import { fileError } from '../routes/file-error.js';
import type { TargetSpec } from '../routes/route.js';
import type { Host, ObjectSink } from './host.js';

/** Larger writes are no faster. */
const WRITE = 1 << 20;

/** An open file as the crate reads it. */
class FileSource {
  constructor(
    private readonly fd: number,
    readonly size: number,
  ) {}

  async read(offset: number, length: number): Promise<Uint8Array> {
    const bytes = Buffer.allocUnsafeSlow(length);
    let at = 0;
    while (at < length) {
      const { bytesRead } = await promisify(read)(this.fd, bytes, at, length - at, offset + at).catch((thrown) => {
        throw fileError(thrown, 'source', 'read the image');
      });
      if (bytesRead === 0) throw new Error('it was cut while it was read');
      at += bytesRead;
    }
    return bytes;
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
  source: (spec) => ('fd' in spec ? new FileSource(spec.fd, spec.size) : spec.blob),
  openTarget: async (spec) => ({ sink: openSink(spec), shared: true }),
  openShare: async (spec) => ({ sink: openSink(spec), close: () => {} }),
};
