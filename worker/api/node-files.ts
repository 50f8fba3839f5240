// Node: the worker script and the wasm, where they are, and the port of a worker.

import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { checkedCodec, codecFile, ENGINES, fileNotLoaded } from '../client-side/package-files.js';
import { DecantError, toDecantError } from '../errors/errors.js';
import { isOf } from '../errors/values.js';
import { unexpectedEnd, type WorkerPort } from '../messages/rpc.js';
import { CODEC_URLS, type Codec } from '../public/registry.js';
import type { Configuration, NodeWorker } from '../public/types.node.js';
import { toPath } from './node-path.js';
import { checkConfiguration } from './options.js';

let configuration: Configuration = {};

/**
 * Sets the locations of workers and wasm. Omitted fields keep their values. Call it first: it affects only workers that
 * start later. Throws `usage` for a wrong field.
 */
export function configure(changes: Configuration): void {
  checkConfiguration(changes);
  configuration = { ...configuration, ...changes };
}

function packagedWorker(): Worker {
  // In a variable: webpack breaks `new Worker(new URL(...))` here.
  const script = new URL('./worker.node.mjs', import.meta.url);
  // Without the host program's options, some of which are not allowed in workers.
  return new Worker(script, { execArgv: [] });
}

/** Throws `internal` if Node does not allow the worker. */
export function makeWorker(): NodeWorker {
  try {
    return (configuration.worker ?? packagedWorker)('workers');
  } catch (thrown) {
    throw notStarted(toDecantError(thrown).message, thrown);
  }
}

/** Compiles the wasm. Fails with `internal` if it cannot be loaded. */
export function compile(): Promise<WebAssembly.Module> {
  return load(ENGINES.workers.wasm, 'wasm', async (from) => {
    const given = await (configuration.wasm?.('workers') ?? new URL('./decant.wasm', import.meta.url));
    if (isOf<WebAssembly.Module>(given, 'WebAssembly.Module')) return given;
    return WebAssembly.compile(await from(given));
  });
}

/** Loads the wasm of the codec `name`. Fails with `internal` if it cannot be loaded. */
export function loadCodec(name: Codec): Promise<Uint8Array> {
  return load(codecFile(name), 'codec', async (from) => {
    const given = await (configuration.codec?.(name) ?? CODEC_URLS[name]());
    return checkedCodec(name, isOf<Uint8Array<ArrayBuffer>>(given, 'Uint8Array') ? given : await from(given));
  });
}

/**
 * Loads the package's `file` by `read`, which is passed a function that reads a file. `option` is the field of `configure`
 * for it, for the message of the error.
 */
async function load<T>(
  file: string,
  option: keyof Configuration,
  read: (from: (given: URL | string) => Promise<Buffer<ArrayBuffer>>) => Promise<T>,
): Promise<T> {
  let place = file;
  try {
    return await read((given) => {
      place = String(given);
      return readFile(toPath(given));
    });
  } catch (cause) {
    throw fileNotLoaded(place, cause, `put the package's ${file} there`, option);
  }
}

const SCRIPT = 'worker.node.mjs';

/** The error for a worker that did not start. */
export function notStarted(reason: string, cause: unknown): DecantError {
  const advice = `keep the package outside of the bundle, or set the location of its ${SCRIPT} with configure({ worker })`;
  return new DecantError('internal', `Could not start a worker: ${reason}; ${advice}`, {
    code: 'worker-not-started',
    fields: { script: SCRIPT },
    cause,
  });
}

/** Node's codes for a missing script, or a missing import of it. */
const NOT_FOUND = ['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'];

function failed(error: NodeJS.ErrnoException): string | DecantError {
  const isMissing = error.code !== undefined && NOT_FOUND.includes(error.code);
  return isMissing ? notStarted(error.message, error) : unexpectedEnd(error.message);
}

export function nodeWorker(worker: NodeWorker): WorkerPort {
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    listen: (message) => worker.on('message', message),
    onDeath(died) {
      worker.on('error', (error) => died(failed(error)));
      worker.on('messageerror', () => died(unexpectedEnd('a message could not be read')));
      worker.on('exit', (code) => died(unexpectedEnd(`exit code ${code}`)));
    },
    terminate: async () => void (await worker.terminate()),
    keepAlive: (alive) => (alive ? worker.ref() : worker.unref()),
  };
}
