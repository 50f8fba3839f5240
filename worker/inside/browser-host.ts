// A worker of the browser.

import { webWorker } from '../platform/web-worker.js';
import type { TargetSpec } from '../routes/route.js';
import type { Port } from '../rpc.js';
import * as plain from '../wasm/plain/index.js';
import type { CrateSink, Host, ObjectSink } from './host.js';

/** The name of a pool worker. */
export const POOL = 'decant pool';

const port: Port = {
  post: (message, transfer = []) => globalThis.postMessage(message, { transfer }),
  listen: (message) => globalThis.addEventListener('message', ({ data }) => message(data)),
};

/** Whether several workers may have one file open for writing: Chromium only. */
const canShare = (): boolean =>
  typeof FileSystemSyncAccessHandle !== 'undefined' && 'mode' in FileSystemSyncAccessHandle.prototype;

const fileOf = (spec: TargetSpec): FileSystemFileHandle => {
  if ('opfs' in spec) return spec.opfs;
  throw new Error('no file of the private file system');
};

/**
 * Gives a file its length and lets it go, before pool workers open it: several handles that each
 * extend an empty file would each be charged for it, and removing the file gives one share back.
 */
class LengthOnly implements ObjectSink {
  constructor(private readonly file: FileSystemFileHandle) {}

  async truncate(length: number): Promise<void> {
    const handle = await this.file.createSyncAccessHandle();
    try {
      handle.truncate(length);
    } finally {
      handle.close();
    }
  }

  write(): void {
    throw new Error('pool workers write');
  }

  async close(): Promise<void> {}
  async abort(): Promise<void> {}
}

export const browserHost: Host = {
  port,

  // The script that runs here, which is loaded already; written out, so that bundlers make of it what they made of it
  // for the coordinator.
  spawnPoolWorker: () =>
    webWorker(new Worker(new URL('../worker.browser.js', import.meta.url), { type: 'module', name: POOL })),

  // The first one needs no further request, the others are loaded where they are needed; by names that bundlers can
  // follow.
  async glue(variant) {
    switch (variant) {
      case 'plain':
        return plain;
      case 'plain-extras':
        return import('../wasm/plain-extras/index.js');
      case 'threads':
        return import('../wasm/threads/index.js');
      case 'threads-extras':
        return import('../wasm/threads-extras/index.js');
    }
  },

  source: (spec) => ('blob' in spec ? spec.blob : undefined),

  async openTarget(spec, poolWorkers) {
    if ('picked' in spec) {
      return { sink: { writable: await spec.picked.createWritable() }, shared: false };
    }
    const file = fileOf(spec);
    if (poolWorkers && canShare()) return { sink: { object: new LengthOnly(file) }, shared: true };
    return { sink: { handle: await file.createSyncAccessHandle() }, shared: false };
  },

  async openShare(spec) {
    const handle = await fileOf(spec).createSyncAccessHandle({ mode: 'readwrite-unsafe' });
    const sink: CrateSink = { handle };
    return { sink, close: () => handle.close() };
  },
};
