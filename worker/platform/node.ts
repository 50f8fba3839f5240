// Node, from the calling side.

import { close, constants, fstat, open } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DecantError } from '../errors.js';
import { fileError } from '../routes/file-error.js';
import { PathRoute } from '../routes/path.js';
import type { Source } from '../types.js';
import { nodeWorker } from './node-worker.js';
import { type OpenedSource, once, type Platform, type Variant } from './platform.js';

async function compile(variant: Variant): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readFile(new URL(`../wasm/${variant}/index_bg.wasm`, import.meta.url)));
}

function toPath(path: string | URL): string {
  if (typeof path === 'string') return path;
  if (path.protocol === 'file:') return fileURLToPath(path);
  throw new DecantError('usage', `'${path.href}' is no file; download it first`);
}

async function openFile(path: string): Promise<OpenedSource> {
  const stat = (fd: number) => promisify(fstat)(fd, { bigint: true });
  let fd: number | undefined;
  try {
    // A pipe must be refused, not waited for.
    fd = await promisify(open)(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { size, mtimeNs, mode, dev, ino } = await stat(fd);
    if ((mode & 0o170000n) !== 0o100000n) throw new DecantError('usage', `'${path}' is not a regular file`);
    const opened = fd;
    return {
      spec: { fd, size: Number(size) },
      identity: `${dev}:${ino}`,
      name: path,
      async verify() {
        const now = await stat(opened);
        if (now.size === size && now.mtimeNs === mtimeNs) return;
        throw new DecantError(
          'source',
          `'${path}' was changed while it was read; convert it when nothing writes to it`,
        );
      },
      close: () => promisify(close)(opened),
    };
  } catch (thrown) {
    if (fd !== undefined) await promisify(close)(fd);
    throw fileError(thrown, 'source', `open '${path}'`);
  }
}

async function openSource(source: Source): Promise<OpenedSource> {
  if (typeof source === 'string' || source instanceof URL) return openFile(toPath(source));
  const blob = source instanceof Uint8Array ? new Blob([source as Uint8Array<ArrayBuffer>]) : source;
  if (!(blob instanceof Blob)) {
    throw new DecantError('usage', 'In Node an image is a path, a file URL, a Blob or a Uint8Array');
  }
  try {
    structuredClone(blob);
  } catch {
    throw new DecantError('usage', 'In Node this kind of Blob cannot be handed to workers; hand over the path');
  }
  const name = blob instanceof File ? blob.name : undefined;
  return { spec: { blob }, identity: blob, name, verify: async () => {}, close: async () => {} };
}

export const node: Platform = {
  get cores() {
    return availableParallelism();
  },
  memoryPerWorker: 16 << 20,
  noThreads: 'in Node there is the workers engine only',
  // Nothing is fetched, so nothing is saved by a smaller one; and one alone can be started before it is known
  // what an image needs.
  variant: () => 'plain-extras',
  spawnCoordinator: () => nodeWorker(new URL('../coordinator.node.js', import.meta.url)),
  module: once(compile),
  openSource,
  route(output, sources, options) {
    if (typeof output === 'string' || output instanceof URL) {
      return new PathRoute(
        toPath(output),
        sources.map((source) => source.spec),
        options.sync ?? false,
      );
    }
    throw new DecantError('usage', 'In Node an output is a path or a file URL');
  },
};
