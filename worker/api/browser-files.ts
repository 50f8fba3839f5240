// Where workers and wasm come from in browsers.

import { DecantError, toDecantError } from '../errors.js';
import type { Build } from '../messages.js';
import { checkNames, namesOf } from '../option-names.js';
import type { Configuration } from '../types.browser.js';
import { isOf } from '../values.js';
import { fromViteCache } from '../vite-cache.js';
import { PolicyReports } from '../workers/policy.js';
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
  if (changes.threads !== undefined) checkObject('threads', changes.threads);
  configuration = { ...configuration, ...changes };
}

/** Whether the `threads` engine was handed to `configure`. */
export const hasThreads = (): boolean => configuration.threads !== undefined;

/** Each is written out, so that bundlers find it. */
function packagedWorker(build: Build): Worker {
  const original = fromViteCache(`worker.${build}.js`, import.meta.url);
  if (original && build !== 'threads') return new Worker(original, { type: 'module' });
  switch (build) {
    case 'plain':
      return new Worker(new URL('./worker.plain.js', import.meta.url), { type: 'module' });
    case 'extras':
      return new Worker(new URL('./worker.extras.js', import.meta.url), { type: 'module' });
    case 'threads':
      return configuration.threads!.worker() as Worker;
  }
}

/** Each is written out, so that bundlers find it. */
function packagedWasm(build: Build): URL {
  const original = fromViteCache(`${build}.wasm`, import.meta.url);
  if (original && build !== 'threads') return original;
  switch (build) {
    case 'plain':
      return new URL('./plain.wasm', import.meta.url);
    case 'extras':
      return new URL('./extras.wasm', import.meta.url);
    case 'threads':
      return configuration.threads!.wasm();
  }
}

/** Fails with `internal` where the browser allows no such worker. */
export function makeWorker(build: Build): Worker {
  try {
    return (configuration.worker ?? packagedWorker)(build);
  } catch (thrown) {
    const { message } = toDecantError(thrown);
    const advice = `make it from the page's own origin with configure({ worker }), out of the package's worker.${build}.js`;
    throw new DecantError('internal', `Could not start a worker: ${message}; ${advice}`, {
      code: 'worker-not-started',
      fields: { script: `worker.${build}.js` },
      cause: thrown,
    });
  }
}

/** Fails with `internal` where the wasm cannot be loaded. */
export async function compile(build: Build): Promise<WebAssembly.Module> {
  let place = `${build}.wasm`;
  const reports = new PolicyReports();
  try {
    const given = await (configuration.wasm ?? packagedWasm)(build);
    if (isOf<WebAssembly.Module>(given, 'WebAssembly.Module')) return given;
    if (isOf<Response>(given, 'Response')) return await compileResponse(given);
    place = new Request(given).url;
    return await compileResponse(await fetch(given));
  } catch (cause) {
    const forbidden = await reports.forWasm(place);
    if (forbidden) throw forbidden;
    const advice = `serve the package's ${build}.wasm there, or say where it is with configure({ wasm })`;
    throw new DecantError('internal', `Could not load ${place}: ${(cause as Error).message}; ${advice}`, {
      code: 'wasm-not-loaded',
      fields: { place },
      cause,
    });
  } finally {
    reports.end();
  }
}

async function compileResponse(response: Response): Promise<WebAssembly.Module> {
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  // Compiled as it comes only where it is called what it is, which not every server does.
  const isCalledWasm = response.headers.get('Content-Type')?.startsWith('application/wasm');
  if (isCalledWasm) return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}
