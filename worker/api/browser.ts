// Browsers, from the calling side.

import { DecantError } from '../errors.js';
import type { Build } from '../messages.js';
import type { OpenedSource } from '../sources/opened-source.js';
import { isOwn, openOwn } from '../sources/own.js';
import { isReadable, openStream } from '../sources/stream.js';
import { DownloadRoute } from '../targets/download.js';
import { OpfsRoute } from '../targets/opfs.js';
import { ownRoute } from '../targets/own.js';
import { FolderRoute, PickedRoute } from '../targets/picked.js';
import type { Input } from '../types.js';
import { isObject } from '../values.js';
import { webWorker } from '../workers/web-worker.js';
import { once, type Platform } from './platform.js';

/** Written out, so that bundlers find them. */
function urlOf(build: Build): URL {
  switch (build) {
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

async function compile(build: Build): Promise<WebAssembly.Module> {
  const url = urlOf(build);
  try {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    // Compiled as it comes only where it is called what it is, which not every server does.
    const isCalledWasm = response.headers.get('Content-Type')?.startsWith('application/wasm');
    if (isCalledWasm) return await WebAssembly.compileStreaming(response);
    return await WebAssembly.compile(await response.arrayBuffer());
  } catch (cause) {
    throw new DecantError('internal', `Could not load ${url.href}: ${(cause as Error).message}`, { cause });
  }
}

const isHandle = (value: unknown): value is FileSystemFileHandle =>
  typeof FileSystemFileHandle !== 'undefined' && value instanceof FileSystemFileHandle;

async function fileOf(handle: FileSystemFileHandle): Promise<File> {
  try {
    return await handle.getFile();
  } catch (cause) {
    const message = `Could not open '${handle.name}': ${(cause as Error).message}`;
    throw new DecantError('source', message, { cause });
  }
}

async function openSource(input: Input): Promise<OpenedSource> {
  if (isOwn(input)) return openOwn(input);
  if (isReadable(input)) return openStream(input);
  const handle = isHandle(input) ? input : undefined;
  const given = handle ? await fileOf(handle) : input;
  const blob = given instanceof Uint8Array ? new Blob([given as Uint8Array<ArrayBuffer>]) : given;
  if (!(blob instanceof Blob)) {
    throw new DecantError(
      'usage',
      'In a browser an image is a File, a Blob, a Uint8Array, a FileSystemFileHandle, a ReadableStream or an object with size and read',
    );
  }
  const file = blob instanceof File ? blob : undefined;
  return {
    spec: { blob },
    // Another File object may be another file, even where its name, size and time are the same.
    identity: input,
    ...(handle && file && { entry: { handle, lastModified: file.lastModified } }),
    name: file?.name,
    size: blob.size,
    isFile: async (other, now) => {
      if (handle) return (await other.isSameEntry(handle)) ? 'certain' : undefined;
      if (!file) return undefined;
      return describe(now) === describe(file) || (await wasEmptied(file, now)) ? 'probable' : undefined;
    },
    // The browser itself refuses to read a File that has changed.
    verify: async () => {},
    close: async () => {},
  };
}

const describe = ({ name, size, lastModified }: File): string => JSON.stringify([name, size, lastModified]);

/** Whether `now`, an empty file, looks like what a dialog has left of `file`: of its name, while that is not to be read. */
async function wasEmptied(file: File, now: File): Promise<boolean> {
  if (now.size > 0 || file.size === 0 || now.name !== file.name) return false;
  const readable = await file
    .slice(0, 1)
    .arrayBuffer()
    .catch(() => undefined);
  return readable === undefined;
}

export const browser: Platform = {
  get cores() {
    return navigator.hardwareConcurrency;
  },
  memoryPerWorker: 48 << 20,
  get noThreads() {
    if (!globalThis.crossOriginIsolated) {
      return 'the page is not cross-origin isolated (its server does not send the headers for that)';
    }
    return typeof SharedArrayBuffer === 'undefined' ? 'this browser shares no memory between threads' : undefined;
  },
  builds: (engine) =>
    engine === 'threads' ? { small: 'threads', full: 'threads-extras' } : { small: 'plain', full: 'plain-extras' },
  // Both are written out, so that bundlers find them; the script is loaded once.
  spawnCoordinator: () =>
    webWorker(new Worker(new URL('../worker.browser.js', import.meta.url), { type: 'module', name: 'decant' })),
  spawnPoolWorker: () =>
    webWorker(new Worker(new URL('../worker.browser.js', import.meta.url), { type: 'module', name: 'decant pool' })),
  module: once(compile),
  openSource,
  route(output, sources) {
    if (isHandle(output)) return new PickedRoute(output, sources);
    const own = ownRoute(output);
    if (own) return own;
    if (isObject(output) && 'folder' in output) return new FolderRoute(output.folder, output.name, sources);
    if (isObject(output) && 'opfs' in output) return new OpfsRoute(output.opfs, sources);
    if (isObject(output) && 'download' in output) return new DownloadRoute(output.download);
    throw new DecantError(
      'usage',
      'In a browser an output is a file handle, { folder, name }, { opfs: name }, { download: name }, a WritableStream or an object with write, close and abort',
    );
  },
};
