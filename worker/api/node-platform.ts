// The platform Node: opens sources and targets, starts workers and loads the wasm.

import { availableParallelism } from 'node:os';
import { once } from '../client-side/package-files.js';
import { DecantError } from '../errors/errors.js';
import { isBytes } from '../errors/values.js';
import { isHttp } from '../http/address.js';
import type { HttpPlatform } from '../http/http-client.js';
import type { HttpOptions } from '../http/http-types.js';
import type { Input } from '../public/caller-types.js';
import type { Source } from '../public/types.js';
import { isCustomSource, isReadable, openCustom, openServerAddress } from '../sources/inputs.js';
import { isHandle, openHandle, openPath } from '../sources/node/node-file.js';
import { fromReadable, isNodeReadable } from '../sources/node/node-stream.js';
import type { OpenedSource } from '../sources/opened-source.js';
import { requireReadable } from '../sources/source-errors.js';
import { OutputPath } from '../targets/node/output-path.js';
import { PathTarget } from '../targets/node/path.js';
import { SpoolFile, spoolFolder } from '../targets/node/spool-file.js';
import { compile, loadCodec, makeWorker, nodeWorker } from './node-files.js';
import { toPath } from './node-path.js';
import type { Platform } from './platform.js';

/** Imported at the first request, since loading Node's network modules takes 10 ms. */
const loadFetch = () => import('../http/node-fetch.js');

export const http: HttpPlatform = {
  seesRedirects: true,
  fetch: async () => (await loadFetch()).readingFetch(),
  fetchUndecoded: async () => (await loadFetch()).environmentFetchUndecoded(),
  guard: async () => (await loadFetch()).makeGuard(),
};

/** Reads `bytes` where they are: Node frees the memory of Blobs late. */
function inMemory(bytes: Uint8Array | ArrayBuffer): Source {
  // `slice` of a Buffer does not copy.
  const view = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
    : new Uint8Array(bytes);
  return { size: view.length, read: async (offset, length) => view.slice(offset, offset + length) };
}

async function openSource(input: Input, options: HttpOptions): Promise<OpenedSource> {
  if (isHttp(input)) return openServerAddress(http, input, options);
  if (typeof input === 'string' || input instanceof URL) return openPath(toPath(input));
  if (isHandle(input)) return openHandle(input);
  // Checked before custom sources, since a Readable has a method `read`, too.
  if (isNodeReadable(input)) return openCustom(fromReadable(input), options);
  if (isCustomSource(input) || isReadable(input)) return openCustom(input, options);
  if (isBytes(input)) return Object.assign(await openCustom(inMemory(input), options), { identity: input });
  if (!(input instanceof Blob)) {
    throw new DecantError(
      'usage',
      'In Node, an image must be a path, a file, http or https URL, a Blob, a Uint8Array, an ArrayBuffer, a FileHandle, a ReadableStream, a Readable or an object with size and read',
    );
  }
  try {
    structuredClone(input);
  } catch {
    throw new DecantError('usage', 'In Node, this kind of Blob cannot be sent to workers; pass the path instead');
  }
  const name = input instanceof File ? input.name : undefined;
  return {
    spec: { blob: input },
    identity: input,
    name,
    size: input.size,
    verify: () => requireReadable(input),
    close: async () => {},
  };
}

export const node: Platform = {
  get cores() {
    return availableParallelism();
  },
  convertOptions: ['bmap', 'existing', 'sparse', 'spool', 'sync'],
  memoryPerWorker: 16 << 20,
  noThreads: 'Node has only the workers engine',
  spawn: () => nodeWorker(makeWorker()),
  module: once(compile),
  codec: once(loadCodec),
  openSource,
  spool({ spool = false, sparse }, sources, otherwise) {
    if (spool === false) return undefined;
    const isPath = (typeof spool === 'string' && spool !== '') || spool instanceof URL;
    if (spool !== true && !isPath) throw new DecantError('usage', "'spool' must be true, false or a folder");
    const folder = isPath ? toPath(spool) : spoolFolder();
    return new SpoolFile({ folder, sources: sources.map(({ spec }) => spec), dense: sparse === false, otherwise });
  },
  async bmap(extents, output, result, signal) {
    const { bmapOf } = await import('../targets/node/bmap.js');
    return bmapOf(extents, output as OutputPath, result, signal);
  },
  begin(output) {
    if (isHttp(output) || !(typeof output === 'string' || output instanceof URL)) return undefined;
    return new OutputPath(toPath(output)).recorded();
  },
  async target(output, sources, options) {
    if (isHttp(output))
      throw new DecantError(
        'usage',
        'An output cannot be an http or https URL; write to a file, or use a target from decant/upload',
      );
    const path = output instanceof OutputPath ? output : await node.begin!(output);
    if (path instanceof OutputPath) {
      return new PathTarget(
        path,
        sources.map((source) => source.spec),
        options,
      );
    }
    throw new DecantError(
      'usage',
      'In Node, an output must be a path, a file URL, a WritableStream or an object with write, close and abort',
    );
  },
};
