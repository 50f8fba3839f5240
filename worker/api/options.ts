// Checks of callers' options, their defaults, and the output format that they choose.

import {
  checkNames,
  checkReadable,
  checkSignal,
  checkTypes,
  namesOf,
  type OptionType,
  orUsageError,
  shownValue,
  type TypesOf,
} from '../errors/argument-checks.js';
import { DecantError } from '../errors/errors.js';
import { checkLimit } from '../http/request-limit.js';
import type { ConvertOptions, OpenOptions, Output, SettledOptions } from '../public/caller-types.js';
import type { Configuration, TargetsOptions } from '../public/types.browser.js';
import type {
  CheckOptions,
  CommonConvertOptions,
  CompareOptions,
  DigestOptions,
  Engine,
  EngineOptions,
  FormatChoice,
  MapOptions,
  MeasureOptions,
  Network,
  PrepareOptions,
  Progress,
  ReadableOptions,
  ReadOptions,
  Sha256Options,
  UnlockOptions,
} from '../public/types.js';
import { canBeReadBack, isCustomOutput } from '../targets/custom-output.js';
import type { Platform } from './platform.js';

/** The options of a conversion that can be cancelled: at least by closing the image. */
export type CancellableOptions = SettledOptions & { signal: AbortSignal };

/** The options of a conversion that runs. Its listener never throws. */
export interface RunOptions extends CancellableOptions {
  onProgress: (progress: Progress) => void;
  /** The traffic so far of the image and the target. */
  networks: () => Network[];
}

const MIB = 1 << 20;
export const MIN_WORKERS = 1;
export const MAX_WORKERS = 64;
const MIN_MEMORY = 32 * MIB;
const MAX_MEMORY = 2048 * MIB;
/** Extra default memory, in bytes, for sources that fetch ahead: as much as the crate announces (`workload.rs`). */
const READ_AHEAD = 32 * MIB;

/** The default maximum: reads and writes go through one process of the browser. */
const DEFAULT_WORKERS = 8;

/** The options of each call, with the types of those that have a single one. */
const OPTIONS = {
  open: {
    allowUrl: 'function',
    assumePassword: 'boolean',
    checkManifest: 'boolean',
    companions: true,
    disk: true,
    engine: true,
    fetch: 'function',
    forceParent: 'boolean',
    headers: true,
    inputFormat: 'string',
    limit: true,
    name: 'string',
    onWaiting: 'function',
    password: true,
    salvage: 'boolean',
    onProgress: 'function',
    signal: true,
    snapshot: 'string',
    spool: true,
    unpack: 'boolean',
    workers: true,
  } satisfies TypesOf<OpenOptions>,
  prepare: { engine: true, workers: true, size: true } satisfies TypesOf<PrepareOptions>,
  targets: { size: true } satisfies TypesOf<TargetsOptions>,
  unlock: { onProgress: 'function', signal: true } satisfies TypesOf<UnlockOptions>,
  map: { signal: true } satisfies TypesOf<MapOptions>,
  check: { deep: 'boolean', onProgress: 'function', signal: true } satisfies TypesOf<CheckOptions>,
  compare: {
    firstOnly: 'boolean',
    onProgress: 'function',
    onRanges: 'function',
    signal: true,
    spool: true,
    strict: 'boolean',
  } satisfies TypesOf<CompareOptions>,
  measure: { format: 'string', formatOptions: true, signal: true, size: true } satisfies TypesOf<MeasureOptions>,
  digest: { onProgress: 'function', signal: true, tree: 'boolean' } satisfies TypesOf<DigestOptions>,
  sha256: { onProgress: 'function', signal: true } satisfies TypesOf<Sha256Options>,
  read: { signal: true } satisfies TypesOf<ReadOptions>,
  readable: { length: true, offset: true, signal: true } satisfies TypesOf<ReadableOptions>,
  convert: {
    digest: 'boolean',
    disks: true,
    fixGpt: 'boolean',
    // An unknown one has its own code.
    for: true,
    format: 'string',
    formatOptions: true,
    memory: true,
    onProgress: 'function',
    resume: 'boolean',
    sha256: 'boolean',
    size: true,
    twoPass: 'boolean',
    signal: true,
    verify: 'boolean',
  } satisfies TypesOf<CommonConvertOptions>,
};

type CallName = keyof typeof OPTIONS;

const CONFIGURATION = namesOf<Configuration>({ codec: true, threads: true, wasm: true, worker: true });

/** The engine of an image. */
interface EngineSettings {
  engine: Engine;
  engineReason: string;
  workers: number;
}

function inRange(name: string, value: number, min: number, max: number, unit = ''): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new DecantError(
    'usage',
    `'${name}' is ${shownValue(value)}, but must be a whole number from ${min} to ${max}${unit}`,
  );
}

/** Throws `usage` unless `options` is an object. */
export function checkObject(name: string, options: unknown): void {
  if (typeof options !== 'object' || options === null) throw new DecantError('usage', `'${name}' must be an object`);
}

/**
 * Throws `usage` unless `options` is an object with no options but those of `call` and `more`, and those have the types in
 * {@link OPTIONS}.
 */
export function checkCall(call: CallName, options: object, more: readonly string[] = []): void {
  checkReadable('the options', options);
  checkObject('options', options);
  const types: Record<string, OptionType | true> = OPTIONS[call];
  checkNames(call, options, [...Object.keys(types), ...more]);
  const { signal } = options as { signal?: unknown };
  checkSignal(signal);
  for (const [name, type] of Object.entries(types))
    if (type !== true) checkTypes(options as Record<string, unknown>, type, [name]);
}

/** Checks the argument of `configure`. Throws `usage`. */
export function checkConfiguration(changes: Partial<Record<keyof Configuration, unknown>>): void {
  checkObject('configuration', changes);
  checkNames('configure', changes, CONFIGURATION);
  checkTypes(changes, 'function', ['worker', 'wasm', 'codec']);
}

/** Checks the types of options, for callers without TypeScript. Throws `usage`. */
export function checkOpening(options: OpenOptions): void {
  checkCall('open', options);
  const disk: unknown = options.disk;
  if (disk !== undefined && typeof disk !== 'string' && !(Number.isSafeInteger(disk) && (disk as number) > 0)) {
    throw new DecantError('usage', "'disk' must be a string or a whole number from 1");
  }
  checkLimit(options.limit);
  if (options.companions !== undefined && !Array.isArray(options.companions)) {
    throw new DecantError('usage', "'companions' must be an array");
  }
  const password: unknown = options.password;
  const isBytes = password instanceof Uint8Array;
  if (password !== undefined && !isBytes && typeof password !== 'string' && typeof password !== 'function') {
    throw new DecantError('usage', "'password' must be a string, a Uint8Array or a function");
  }
}

/** Returns a copy of the options of `open`, also of those that `options` inherits. */
export function copyOfOpening(options: OpenOptions): OpenOptions {
  const given = options as Record<string, unknown>;
  const names = Object.keys(OPTIONS.open).filter((name) => given[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, given[name]]));
}

/** Checks the options of a conversion to `output`; `more` are those of the platform. Throws `usage`. */
export function checkConversion(output: Output, options: ConvertOptions, more: readonly string[]): void {
  checkCall('convert', options, more);
  checkReadable('the output', output);
  checkTypes(options, 'boolean', ['bmap', 'existing', 'sparse', 'sync']);
  const { bmap, disks = [], format = options.for === undefined ? 'raw' : undefined } = options;
  if (bmap && format !== 'raw') throw new DecantError('usage', "'bmap' needs a raw disk as the output (format 'raw')");
  if (options.digest && options.resume) {
    const message =
      "A conversion that can be resumed has no digest, since it may not read the whole disk: leave out 'resume' or 'digest'";
    throw new DecantError('usage', `${message} (--resume, --digest)`);
  }
  if (!Array.isArray(disks)) throw new DecantError('usage', "'disks' must be an array");
  if (disks.length > 0 && options.size !== undefined)
    throw new DecantError('usage', "'size' is for one disk: leave out 'disks', or state one disk (--disk)");
}

/** The options of an output format as the core takes them: texts by name, such as `on` for `true`. Throws `usage` for other values. */
export function settleFormatOptions({
  formatOptions = {},
}: Pick<FormatChoice, 'formatOptions'>): Record<string, string> {
  checkObject('formatOptions', formatOptions);
  if (orUsageError("'formatOptions'", () => Symbol.iterator in formatOptions))
    throw new DecantError('usage', "'formatOptions' must be a plain object");
  // Without a prototype: `__proto__` is a name like any other.
  const texts: Record<string, string> = Object.create(null);
  for (const [name, value] of orUsageError("'formatOptions'", () => Object.entries<unknown>(formatOptions))) {
    if (value === undefined) continue;
    if (typeof value === 'boolean') texts[name] = value ? 'on' : 'off';
    else if (typeof value === 'string' || typeof value === 'number') texts[name] = String(value);
    else throw new DecantError('usage', `The option '${name}' must be a string, a number, true or false`);
  }
  return texts;
}

/** Throws `usage` for options of files with an output that is a stream or a custom target, and for `verify` if it cannot be read back. */
export function checkFileOptions(output: Output, options: ConvertOptions): void {
  const name = (['bmap', 'existing', 'sync'] as const).find((name) => options[name]);
  if (name && isCustomOutput(output))
    throw new DecantError('usage', `'${name}' needs a file, not a stream or a custom target`);
  if (!options.verify || canBeReadBack(output)) return;
  const message =
    'Streams and targets without readBack cannot be read back; leave out verify (--verify), or write to a file';
  throw new DecantError('usage', message, { code: 'verify-refused' });
}

/** Throws `usage` for options that make no sense with `spool`. */
export function checkSpooled({ twoPass, resume }: ConvertOptions): void {
  if (twoPass) {
    const message = 'Choose either two passes (twoPass, --two-pass) or a temporary file (spool, --spool)';
    throw new DecantError('usage', message);
  }
  if (resume) throw new DecantError('usage', "A conversion with a temporary file ('spool') cannot be resumed");
}

/** Checks `options` and fills in the defaults. Throws `usage`. */
export function settle(options: EngineOptions, platform: Platform): EngineSettings {
  const workers = options.workers ?? Math.min(platform.cores, DEFAULT_WORKERS);
  return {
    ...chooseEngine(options.engine ?? 'auto', platform),
    workers: inRange('workers', workers, MIN_WORKERS, MAX_WORKERS),
  };
}

/** The size of sectors, in bytes. */
const SECTOR = 512;

/** The options that have the size of the disk: `size`, in whole sectors. Throws `usage`. */
export function settleSize({ size }: { size?: number | undefined }): { size?: number } {
  if (size === undefined) return {};
  return { size: Math.ceil(inRange('size', size, 1, Number.MAX_SAFE_INTEGER - SECTOR, ' bytes') / SECTOR) * SECTOR };
}

/** The total memory, in bytes, for the buffers of a conversion by `workers`. Throws `usage`. */
export function settleMemory(
  { memory }: ConvertOptions,
  workers: number,
  platform: Platform,
  readsAhead: boolean,
): number {
  const ofWorkers = Math.max(MIN_MEMORY, workers * platform.memoryPerWorker);
  const byDefault = Math.min(ofWorkers + (readsAhead ? READ_AHEAD : 0), MAX_MEMORY);
  return inRange('memory', memory ?? byDefault, MIN_MEMORY, MAX_MEMORY, ' bytes');
}

function chooseEngine(wanted: string, platform: Platform): { engine: Engine; engineReason: string } {
  const { noThreads } = platform;
  switch (wanted) {
    case 'workers':
      return { engine: 'workers', engineReason: 'requested' };
    case 'threads':
      if (noThreads) throw new DecantError('usage', `The threads engine cannot run: ${noThreads}`);
      return { engine: 'threads', engineReason: 'requested' };
    case 'auto':
      // Threads are as fast, and need a second wasm (docs/performance.md).
      return { engine: 'workers', engineReason: 'the faster engine' };
    default:
      throw new DecantError('usage', `There is no engine '${shownValue(wanted)}'; choose auto, threads or workers`);
  }
}
