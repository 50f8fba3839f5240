// Node, from the calling side.

import { close, constants, fstat, open, read } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DecantError } from '../errors.js';
import { fileError } from '../file-error.js';
import type { Input } from '../given.js';
import { isHttp } from '../http/address.js';
import type { HttpPlatform } from '../http/client.js';
import { makeGuard } from '../http/guard.js';
import { environmentFetch, environmentFetchStored } from '../http/proxies.js';
import type { HttpOptions } from '../http/types.js';
import { isAddress, shownAddress } from '../secrets.js';
import { openAddress } from '../sources/http.js';
import type { OpenedSource } from '../sources/opened-source.js';
import { isOwn, openOwn } from '../sources/own.js';
import { isReadable, openStream } from '../sources/stream.js';
import { ownRoute } from '../targets/own.js';
import { PathRoute } from '../targets/path.js';
import { isOf } from '../values.js';
import { nodeWorker } from '../workers/node-worker.js';
import { compile, makeWorker } from './node-files.js';
import { once, type Platform } from './platform.js';

function toPath(given: string | URL): string {
  if (typeof given !== 'string' && given.protocol !== 'file:') {
    throw new DecantError('usage', `'${given.protocol}//${given.host}' is no file`);
  }
  if (typeof given === 'string' && isAddress(given) && !/^file:/i.test(given)) {
    const advice = 'use an address that begins with http:// or https://, or write ./ before a path';
    throw new DecantError(
      'usage',
      `'${shownAddress(given)}' is not a path, and not an address that Decant reads: ${advice}`,
    );
  }
  let path: string;
  try {
    path = typeof given === 'string' ? given : fileURLToPath(given);
  } catch (cause) {
    throw new DecantError('usage', `'${given}' is no path of this system`, { cause });
  }
  // Node would take half a character for the replacement character: the name of another file.
  if (/[\0\p{Surrogate}]/u.test(path)) throw new DecantError('usage', `'${path}' is no name that a file can have`);
  return path;
}

async function openFile(path: string): Promise<OpenedSource> {
  const stat = (fd: number) => promisify(fstat)(fd, { bigint: true });
  let fd: number | undefined;
  try {
    // A pipe must be refused, not waited for.
    fd = await promisify(open)(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { size, mtimeNs, ctimeNs, mode, dev, ino } = await stat(fd);
    if ((mode & 0o170000n) !== 0o100000n) throw new DecantError('usage', `'${path}' is not a regular file`);
    const opened = fd;
    return {
      spec: { file: { fd, path, device: dev, inode: ino }, size: Number(size) },
      identity: `${dev}:${ino}`,
      // The number of a device may be another one after a restart. Nobody can set the time of the last change.
      state: JSON.stringify([await realpath(path), `${ino}:${size}:${mtimeNs}:${ctimeNs}`]),
      name: path,
      size: Number(size),
      async peek(offset, length) {
        const bytes = new Uint8Array(length);
        const { bytesRead } = await promisify(read)(opened, bytes, 0, length, offset);
        return bytes.subarray(0, bytesRead);
      },
      async verify() {
        const now = await stat(opened);
        if (now.size === size && now.mtimeNs === mtimeNs) return;
        throw new DecantError(
          'source',
          `'${path}' was changed while it was read; convert it when nothing writes to it`,
          { code: 'source-changed', fields: { file: path } },
        );
      },
      close: () => promisify(close)(opened),
    };
  } catch (thrown) {
    if (fd !== undefined) await promisify(close)(fd);
    throw fileError(thrown, 'source', `open '${path}'`);
  }
}

export const http: HttpPlatform = {
  seesRedirects: true,
  fetch: environmentFetch,
  fetchStored: environmentFetchStored,
  guard: makeGuard,
};

async function openSource(input: Input, options: HttpOptions): Promise<OpenedSource> {
  if (isHttp(input)) return openAddress(http, input, options);
  if (typeof input === 'string' || input instanceof URL) return openFile(toPath(input));
  if (isOwn(input)) return openOwn(input);
  if (isReadable(input)) return openStream(input);
  const isBytes = isOf<Uint8Array<ArrayBuffer>>(input, 'Uint8Array') || isOf<ArrayBuffer>(input, 'ArrayBuffer');
  const blob = isBytes ? new Blob([input]) : input;
  if (!(blob instanceof Blob)) {
    throw new DecantError(
      'usage',
      'In Node an image is a path, a URL of a file or of http or https, a Blob, a Uint8Array, an ArrayBuffer, a ReadableStream or an object with size and read',
    );
  }
  try {
    structuredClone(blob);
  } catch {
    throw new DecantError('usage', 'In Node this kind of Blob cannot be handed to workers; hand over the path');
  }
  const name = blob instanceof File ? blob.name : undefined;
  return { spec: { blob }, identity: blob, name, size: blob.size, verify: async () => {}, close: async () => {} };
}

export const node: Platform = {
  get cores() {
    return availableParallelism();
  },
  convertOptions: ['sync'],
  memoryPerWorker: 16 << 20,
  noThreads: 'in Node there is the workers engine only',
  // Nothing is fetched, so nothing is saved by a smaller one; and one alone can be started before it is known
  // what an image needs.
  builds: () => ({ small: 'extras', full: 'extras' }),
  spawn: () => nodeWorker(makeWorker()),
  module: once(compile),
  openSource,
  route(output, sources, options) {
    if (isHttp(output))
      throw new DecantError(
        'usage',
        'An output is no address of a server; choose a file, or a target of decant/upload',
      );
    if (typeof output === 'string' || output instanceof URL) {
      return new PathRoute(
        toPath(output),
        sources.map((source) => source.spec),
        options.sync ?? false,
      );
    }
    const own = ownRoute(output);
    if (own) return own;
    throw new DecantError(
      'usage',
      'In Node an output is a path, a file URL, a WritableStream or an object with write, close and abort',
    );
  },
};
