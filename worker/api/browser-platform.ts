// Browsers: sources and targets, and how workers start.

import { once } from '../client-side/package-files.js';
import { DecantError } from '../errors/errors.js';
import { loadPart } from '../errors/load-part.js';
import { isBytes, isObject, isOf } from '../errors/values.js';
import { isHttp } from '../http/address.js';
import type { HttpPlatform } from '../http/http-client.js';
import type { HttpOptions } from '../http/http-types.js';
import type { ByteRange } from '../http/ranges.js';
import type { Input } from '../public/caller-types.js';
import { isCustomSource, isReadable, openCustom, openServerAddress } from '../sources/inputs.js';
import type { OpenedSource } from '../sources/opened-source.js';
import { requireReadable } from '../sources/source-errors.js';
import { DownloadTarget } from '../targets/browser/download.js';
import { FolderTarget, PickedTarget } from '../targets/browser/picked.js';
import { StoredSpool } from '../targets/browser/spool-storage.js';
import { compile, loadCodec, spawn, threadsObstacle } from './browser-files.js';
import type { Platform } from './platform.js';

const isHandle = (value: unknown): value is FileSystemFileHandle => isOf(value, 'FileSystemFileHandle');

const isFile = (value: unknown): value is File => isOf(value, 'File');

const isBlob = (value: unknown): value is Blob => isFile(value) || isOf(value, 'Blob');

async function fileOf(handle: FileSystemFileHandle): Promise<File> {
  try {
    return await handle.getFile();
  } catch (cause) {
    const message = `Could not open '${handle.name}': ${(cause as Error).message}`;
    throw new DecantError('source', message, { cause });
  }
}

/** `fetch` in browsers does not expose redirects. */
export const http: HttpPlatform = { seesRedirects: false };

async function openSource(input: Input, options: HttpOptions): Promise<OpenedSource> {
  if (isHttp(input)) return openServerAddress(http, input, options);
  if (isCustomSource(input) || isReadable(input)) return openCustom(input, options);
  const handle = isHandle(input) ? input : undefined;
  const given = handle ? await fileOf(handle) : input;
  const blob = isBytes(given) ? new Blob([given]) : given;
  if (!isBlob(blob)) {
    throw new DecantError(
      'usage',
      'In a browser, an image must be a File, a Blob, a Uint8Array, an ArrayBuffer, a URL of http or https, a FileSystemFileHandle, a ReadableStream or an object with size and read',
    );
  }
  const file = isFile(blob) ? blob : undefined;
  return {
    spec: { blob },
    // Two File objects may be two files, even with equal names, sizes and times.
    identity: input,
    // Name, size and time identify a file as well as a server's validators do.
    ...(file && { state: describe(file) }),
    ...(handle && file && { entry: { handle, lastModified: file.lastModified } }),
    name: file?.name,
    size: blob.size,
    peek: (ranges) => peek(blob, ranges),
    isFile: async (other, now) => {
      if (handle) return (await other.isSameEntry(handle)) ? 'certain' : undefined;
      if (!file) return undefined;
      return describe(now) === describe(file) || (await wasEmptied(file, now)) ? 'probable' : undefined;
    },
    // A browser refuses to read a File that has changed, except by a stream that was opened before the change.
    verify: () => requireReadable(blob),
    close: async () => {},
  };
}

/** Reads ranges of `blob` as one Blob: each read is a request to the browser's process. */
async function peek(blob: Blob, ranges: ByteRange[]): Promise<Uint8Array[]> {
  const slices = ranges.map(({ start, end }) => blob.slice(start, end));
  const [only, ...others] = slices;
  const bytes = await (only && others.length === 0 ? only : new Blob(slices)).arrayBuffer();
  let at = 0;
  return slices.map(({ size }) => {
    at += size;
    return new Uint8Array(bytes, at - size, size);
  });
}

const describe = ({ name, size, lastModified }: File): string => JSON.stringify([name, size, lastModified]);

/** Whether `now` is probably `file`, emptied by a save dialog: empty, with the same name, and `file` is unreadable. */
async function wasEmptied(file: File, now: File): Promise<boolean> {
  if (now.size > 0 || file.size === 0 || now.name !== file.name) return false;
  const readable = await file
    .slice(0, 1)
    .arrayBuffer()
    .catch(() => undefined);
  return readable === undefined;
}

/** In bytes. */
const MEMORY_PER_WORKER = 48 << 20;

export const browser: Platform = {
  get cores() {
    return navigator.hardwareConcurrency;
  },
  convertOptions: ['spool'],
  memoryPerWorker: MEMORY_PER_WORKER,
  get noThreads() {
    return threadsObstacle();
  },
  spawn,
  module: once(compile),
  codec: once(loadCodec),
  openSource,
  spool({ spool = false }, _sources, otherwise) {
    if (typeof spool !== 'boolean') throw new DecantError('usage', "In a browser, 'spool' must be true or false");
    return spool ? new StoredSpool(otherwise) : undefined;
  },
  async target(output, sources) {
    if (isHandle(output)) return new PickedTarget(output, sources);
    if (isObject(output) && 'folder' in output) return new FolderTarget(output.folder, output.name, sources);
    if (isObject(output) && 'opfs' in output) {
      const { OpfsTarget } = await loadPart("the browser's storage", () => import('../targets/browser/opfs.js'));
      return new OpfsTarget(output.opfs, sources);
    }
    if (isObject(output) && 'download' in output) return new DownloadTarget(output.download, sources[0]?.name);
    throw new DecantError(
      'usage',
      'In a browser, an output must be a file handle, { folder, name }, { opfs: name }, { download: name }, a WritableStream or an object with write, close and abort',
    );
  },
};
