// Node: locations of the worker script and the wasm.

import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { isOf } from '../calls/values.js';
import { notStarted } from '../client-side/node-worker.js';
import { DecantError, reasonOf, toDecantError } from '../errors/errors.js';
import { checkNames, namesOf } from '../errors/option-names.js';
import type { Configuration, NodeWorker } from '../public/types.node.js';
import { checkObject } from './options.js';

const NAMES = namesOf<Configuration>({ threads: true, wasm: true, worker: true });

let configuration: Configuration = {};

/**
 * Sets the locations of workers and wasm. Omitted fields keep their values. Call it first: it affects only workers that
 * start later. Throws `usage` for a wrong field.
 */
export function configure(changes: Configuration): void {
  checkObject('configuration', changes);
  checkNames('configure', changes, NAMES);
  for (const name of ['worker', 'wasm'] as const) {
    const given: unknown = changes[name];
    if (given !== undefined && typeof given !== 'function')
      throw new DecantError('usage', `'${name}' must be a function`);
  }
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
export async function compile(): Promise<WebAssembly.Module> {
  let place = 'decant.wasm';
  try {
    const given = await (configuration.wasm?.('workers') ?? new URL('./decant.wasm', import.meta.url));
    if (isOf<WebAssembly.Module>(given, 'WebAssembly.Module')) return given;
    place = String(given);
    return await WebAssembly.compile(await readFile(given));
  } catch (cause) {
    const advice = "put the package's decant.wasm there, or set its location with configure({ wasm })";
    throw new DecantError('internal', `Could not load ${place}: ${reasonOf(cause)}; ${advice}`, {
      code: 'wasm-not-loaded',
      fields: { place },
      cause,
    });
  }
}
