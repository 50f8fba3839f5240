// The options of a conversion, checked.

import { DecantError } from './errors.js';
import type { Platform } from './platform/platform.js';
import type { ConvertOptions, Engine } from './types.js';

const MIB = 1 << 20;
const MIN_WORKERS = 1;
const MAX_WORKERS = 64;
const MIN_MEMORY = 32 * MIB;
const MAX_MEMORY = 2048 * MIB;

/** By default no more workers than this: reading and writing go through one process of the browser. */
const DEFAULT_WORKERS = 8;
/** Four job-sized buffers of 16 MiB for each worker: slices of that size are read fastest. */
const MEMORY_PER_WORKER = 64 * MIB;

export interface Settings {
  engine: Engine;
  engineReason: string;
  workers: number;
  memory: number;
}

function inRange(name: string, value: number, min: number, max: number, unit = ''): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new DecantError('usage', `'${name}' is ${value}, but must be a whole number from ${min} to ${max}${unit}`);
}

/** Checks `options` and fills in what they leave open. */
export function settle(options: ConvertOptions, platform: Platform): Settings {
  const workers = inRange(
    'workers',
    options.workers ?? Math.min(platform.cores, DEFAULT_WORKERS),
    MIN_WORKERS,
    MAX_WORKERS,
  );
  const memory = options.memory ?? Math.min(workers * MEMORY_PER_WORKER, MAX_MEMORY);
  return {
    ...chooseEngine(options.engine ?? 'auto', platform),
    workers,
    memory: inRange('memory', memory, MIN_MEMORY, MAX_MEMORY, ' bytes'),
  };
}

function chooseEngine(asked: string, platform: Platform): { engine: Engine; engineReason: string } {
  const { noThreads } = platform;
  switch (asked) {
    case 'workers':
      return { engine: 'workers', engineReason: 'asked for' };
    case 'threads':
      if (noThreads) throw new DecantError('usage', `The threads engine cannot run: ${noThreads}`);
      return { engine: 'threads', engineReason: 'asked for' };
    case 'auto':
      // Measured in Chromium (docs/performance.md): by every route at least as fast as threads, since
      // the workers read and, where they can, write by themselves.
      return { engine: 'workers', engineReason: 'the faster engine for this output' };
    default:
      throw new DecantError('usage', `There is no engine '${asked}'; choose auto, threads or workers`);
  }
}
