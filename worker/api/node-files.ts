// Where workers and wasm come from in Node.

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
 * Sets where workers and wasm come from. What is left out stays as it was. It holds for workers that start later, so it
 * is called before anything else. Fails with `usage` where something is not what it should be.
 */
export function configure(changes: Configuration): void {
  checkObject('configuration', changes);
  checkNames('configure', changes, NAMES);
  for (const name of ['worker', 'wasm'] as const) {
    const given: unknown = changes[name];
    if (given !== undefined && typeof given !== 'function') throw new DecantError('usage', `'${name}' is no function`);
  }
  configuration = { ...configuration, ...changes };
}

function packagedWorker(): Worker {
  // Apart from the worker: webpack breaks one that is made of it at once.
  const script = new URL('./worker.node.mjs', import.meta.url);
  // Not with the options of the host program, some of which no worker can take.
  return new Worker(script, { execArgv: [] });
}

/** Fails with `internal` where Node allows no worker. */
export function makeWorker(): NodeWorker {
  try {
    return (configuration.worker ?? packagedWorker)('workers');
  } catch (thrown) {
    throw notStarted(toDecantError(thrown).message, thrown);
  }
}

/** Fails with `internal` where the wasm cannot be loaded. */
export async function compile(): Promise<WebAssembly.Module> {
  let place = 'decant.wasm';
  try {
    const given = await (configuration.wasm?.('workers') ?? new URL('./decant.wasm', import.meta.url));
    if (isOf<WebAssembly.Module>(given, 'WebAssembly.Module')) return given;
    place = String(given);
    return await WebAssembly.compile(await readFile(given));
  } catch (cause) {
    const advice = "put the package's decant.wasm there, or say where it is with configure({ wasm })";
    throw new DecantError('internal', `Could not load ${place}: ${reasonOf(cause)}; ${advice}`, {
      code: 'wasm-not-loaded',
      fields: { place },
      cause,
    });
  }
}
