// Browsers, from the calling side.

import { DecantError } from '../errors.js';
import { DownloadRoute } from '../routes/download.js';
import { OpfsRoute } from '../routes/opfs.js';
import { PickedRoute } from '../routes/picked.js';
import type { Output, Source } from '../types.js';
import { isObject, type OpenedSource, once, type Platform, type Variant } from './platform.js';
import { webWorker } from './web-worker.js';

/** Written out, so that bundlers find them. */
function urlOf(variant: Variant): URL {
  switch (variant) {
    case 'plain':
      return new URL('../wasm/plain/index_bg.wasm', import.meta.url);
    case 'plain-extras':
      return new URL('../wasm/plain-extras/index_bg.wasm', import.meta.url);
    case 'threads':
      return new URL('../wasm/threads/index_bg.wasm', import.meta.url);
    case 'threads-extras':
      return new URL('../wasm/threads-extras/index_bg.wasm', import.meta.url);
  }
}

async function compile(variant: Variant): Promise<WebAssembly.Module> {
  const url = urlOf(variant);
  try {
    return await WebAssembly.compileStreaming(fetch(url));
  } catch (cause) {
    throw new DecantError('internal', `Could not load ${url.href}: ${(cause as Error).message}`, { cause });
  }
}

const isHandle = (output: Output): output is FileSystemFileHandle =>
  typeof FileSystemFileHandle !== 'undefined' && output instanceof FileSystemFileHandle;

async function openSource(source: Source): Promise<OpenedSource> {
  const blob = source instanceof Uint8Array ? new Blob([source as Uint8Array<ArrayBuffer>]) : source;
  if (!(blob instanceof Blob))
    throw new DecantError('usage', 'In a browser an image is a File, a Blob or a Uint8Array');
  return {
    spec: { blob },
    // Another File object for the same file has the same of these.
    identity: blob instanceof File ? JSON.stringify([blob.name, blob.size, blob.lastModified]) : blob,
    name: blob instanceof File ? blob.name : undefined,
    // The browser itself refuses to read a File that has changed.
    verify: async () => {},
    close: async () => {},
  };
}

export const browser: Platform = {
  get cores() {
    return navigator.hardwareConcurrency;
  },
  memoryPerWorker: 48 << 20,
  get noThreads() {
    return globalThis.crossOriginIsolated
      ? undefined
      : 'the page is not cross-origin isolated (its server does not send the headers for that)';
  },
  variant: (engine, extras) => {
    const base = engine === 'threads' ? 'threads' : 'plain';
    return extras ? `${base}-extras` : base;
  },
  spawnCoordinator: () =>
    webWorker(new Worker(new URL('../worker.browser.js', import.meta.url), { type: 'module', name: 'decant' })),
  module: once(compile),
  openSource,
  route(output) {
    if (isHandle(output)) return new PickedRoute(output);
    if (isObject(output) && 'opfs' in output) return new OpfsRoute(String(output.opfs));
    if (isObject(output) && 'download' in output) return new DownloadRoute(String(output.download));
    throw new DecantError('usage', 'In a browser an output is a file handle, { opfs: name } or { download: name }');
  },
};
