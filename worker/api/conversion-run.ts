// One run of a conversion: workers read the image and write its disk to a target, which is then completed, or discarded after a
// failure.

import type { ImageSession, ImageSetup } from '../client-side/image-session.js';
import type { Connection, Pool } from '../client-side/pool.js';
import { cancelled, DecantError, type ErrorKind, orCancelled, toDecantError, toTargetError } from '../errors/errors.js';
import { anyOf, withListener } from '../errors/signals.js';
import { RequestLimit } from '../http/request-limit.js';
import type {
  Converted,
  ConvertSettings,
  CrateProgress,
  DigestKind,
  NeededWorker,
  TargetedSettings,
} from '../messages/coordinator.js';
import type { PortSpec, TargetSpec } from '../messages/messages.js';
import type { SettledOptions } from '../public/caller-types.js';
import type { ConvertResult, Network, Progress, ReadableOutput, Verified } from '../public/types.js';
import type { OpenedSource } from '../sources/opened-source.js';
import type { OutputTarget, Sizes } from '../targets/output-target.js';
import { type ConversionContext, disksOf, failureOf, sumOf, totalSize } from './conversion-disks.js';
import { resultOf } from './conversion-result.js';
import { identityOf } from './identity.js';
import { settleMemory } from './options.js';
import { type ChosenFormat, chosenFormat } from './output-format.js';
import type { Platform } from './platform.js';
import { Meter } from './progress.js';

/** After these failures, a later conversion can resume. */
const RESUMABLE: ErrorKind[] = ['cancelled', 'source', 'target', 'password', 'missing-file', 'usage', 'internal'];

/** The codes of failures that say that the output, which was read back, is wrong. */
export const DIFFERS = 'verify-differs';
export const UNREADABLE = 'verify-unreadable';
const WRONG = [DIFFERS, UNREADABLE];

/** The options of a conversion that can be cancelled: at least by closing the image. */
export type CancellableOptions = SettledOptions & { signal: AbortSignal };

/** The options of a conversion that runs. Its listener never throws. */
export interface RunOptions extends CancellableOptions {
  onProgress: (progress: Progress) => void;
  /** The traffic so far of the image and the target. */
  networks: () => Network[];
}

/** How guest sums are computed. */
export type Summing = NonNullable<OutputTarget['summing']>;

/** Reads finished outputs back, and compares their guest sums with those of the conversion. */
export interface Verification {
  /** The seed of the sums. */
  seed: Uint8Array;
  /**
   * Compares the disks of `output` with those that were `converted`. Reports how many bytes of the disks are done. Resolves to their size.
   * Fails with `target` if they differ or cannot be read.
   */
  readBack(
    output: OpenedSource,
    converted: Converted,
    chosen: ChosenFormat,
    options: RunOptions,
    report: (done: number) => void,
  ): Promise<number>;
}

/** The chosen format, and for each disk, the size of a streamed one in bytes if it was determined. */
export interface SizedFormat {
  chosen: ChosenFormat;
  diskSizes: (number | undefined)[];
  /** Missing if the output is not verified. */
  verification?: Verification | undefined;
}

/** Converts into `target`, which is not prepared yet and needs no size of a streamed disk. `digest`: the digest of the disk. */
export const convertInto = (
  target: OutputTarget,
  conversion: ConversionContext,
  options: SettledOptions,
  digest?: DigestKind,
): Promise<ConvertResult> =>
  orDiscarded(target, conversion, options, async (running) => {
    const chosen = await chosenFormat(conversion.sessions, running, running.signal);
    return writeTo(target, conversion, running, { chosen, diskSizes: [] }, digest);
  });

/** Calls `work`, which converts into `target`, with the options of the run. If it fails, discards the output. */
export async function orDiscarded(
  target: OutputTarget,
  conversion: ConversionContext,
  options: SettledOptions,
  work: (options: RunOptions) => Promise<ConvertResult>,
): Promise<ConvertResult> {
  const unreadable = new AbortController();
  // Called by timers, too, whose errors nobody catches.
  const networks = () => {
    try {
      const ofSources = disksOf(conversion).flatMap(({ setup }) => setup.sources.networks);
      return [...ofSources, ...(target.network ? [target.network] : [])];
    } catch (thrown) {
      unreadable.abort(thrown);
      return [];
    }
  };
  try {
    const onProgress = (progress: Progress) => options.onProgress?.(progress);
    const signal = options.signal ? anyOf([options.signal, unreadable.signal]) : unreadable.signal;
    return await withListener(signal, onProgress, async (signal, onProgress) => {
      if (signal.aborted) throw cancelled();
      return work({ ...options, signal, onProgress, networks });
    });
  } catch (thrown) {
    const cause = toDecantError(unreadable.signal.aborted ? unreadable.signal.reason : thrown);
    throw await discarded(target, conversion.setup, options, cause);
  }
}

/** Discards the output of a conversion that `cause` has ended. Resolves to the error, which names what is left of the output. */
async function discarded(
  target: OutputTarget,
  { sources }: ImageSetup,
  { resume, signal }: SettledOptions,
  cause: DecantError,
): Promise<DecantError> {
  const reason = target.explain?.(cause) ?? cause;
  const error = reason.kind === 'cancelled' ? cancelled('The conversion', signal) : (target.failure ?? reason);
  const isUnchanged = () =>
    sources.verify().then(
      () => true,
      () => false,
    );
  const isWrong = WRONG.includes(error.code);
  const keep = resume === true && RESUMABLE.includes(error.kind) && !isWrong && (await isUnchanged());
  const left: unknown = await target.discard(error, keep).catch((thrown) => thrown);
  return left instanceof DecantError ? withLeft(error, left) : error;
}

/** Returns `error` with what is left of the output. The reason for the failure comes first. */
function withLeft(error: DecantError, left: DecantError): DecantError {
  const { kind, code, message } = error;
  const fields = { ...error.fields, ...left.fields, reason: message, left: left.message };
  const ofError = error.cause === undefined ? {} : { cause: error.cause };
  return new DecantError(kind, `${message}; ${left.message}`, { code, fields, ...ofError });
}

/** Writes the disk to `target` in the chosen format, and completes the target. */
export async function writeTo(
  target: OutputTarget,
  conversion: ConversionContext,
  options: RunOptions,
  { chosen, diskSizes, verification }: SizedFormat,
  digest: DigestKind | undefined = options.digest ? 'sha256' : undefined,
): Promise<ConvertResult> {
  const { platform, setup, info } = conversion;
  const { signal, twoPass = false } = options;
  const disks = disksOf(conversion);
  const memory = settleMemory(
    options,
    setup.workers,
    platform,
    disks.some(({ setup }) => setup.sources.expect),
  );
  const { name: format, formatOptions, outputSize, hasFooter } = chosen;
  const { fixGpt, size } = options;
  const virtualSize = size ?? totalSize(disks, diskSizes);
  const plan: Plan = {
    settings: {
      format,
      formatOptions,
      size,
      fixGpt,
      twoPass,
      memory,
      digest,
      seed: (verification ?? target.summing)?.seed,
    },
    isVerified: verification !== undefined,
    diskSizes,
    sizes: { virtualSize, outputSize, hasFooter },
    identity: options.resume ? await identityToResume(target, conversion, chosen, options) : undefined,
    sha256: options.sha256 === true,
  };
  const passes = { sending: target.send !== undefined, verifying: verification !== undefined };
  const meter = new Meter(virtualSize, info.fileSize, options.networks, options.onProgress, outputSize, passes);
  try {
    const converted = await write(target, conversion, plan, meter, signal);
    target.summed?.(converted);
    const verified = async () =>
      verification && verify(target, conversion, converted, chosen, verification, options, meter);
    const before = target.readsBack === 'before' ? await verified() : undefined;
    const bytesWritten = target.send ? await send(target, converted, meter, signal) : converted.progress.written;
    await orTargetFailure(target.commit(converted.outputSize, signal));
    const after = target.readsBack === 'after' ? await orRemoved(target, verified()) : undefined;
    return resultOf(target, conversion, chosen, converted, bytesWritten, meter.end(), before ?? after);
  } finally {
    meter.end();
  }
}

/** Verifies the output, which is complete. Fails as `readBack` of a verification does. */
async function verify(
  target: OutputTarget,
  { platform }: ConversionContext,
  converted: Converted,
  chosen: ChosenFormat,
  verification: Verification,
  options: RunOptions,
  meter: Meter,
): Promise<Verified> {
  const { signal } = options;
  const guestBytes = sumOf(converted.disks, 'diskSize');
  const report = (done: number) => meter.verifying(done, guestBytes);
  report(0);
  const open = (readable: ReadableOutput) => openReadable(platform, readable, signal);
  const output = await orTargetFailure(target.readBack!(converted.outputSize, open));
  if (!output) {
    meter.sent();
    return { guestBytes, method: 'checksums' };
  }
  try {
    requireWhole(output, converted.outputSize);
    await verification.readBack(output, converted, chosen, options, report);
    meter.sent();
    return { guestBytes, method: 'read-back' };
  } finally {
    await output.close();
  }
}

/** Fails with `target` unless `output`, which is read back, has `size` bytes. */
function requireWhole(output: OpenedSource, size: number): void {
  if (output.size === size) return;
  const reason = `it has ${output.size} bytes instead of ${size}`;
  throw new DecantError('target', `The output cannot be read back: ${reason}`, {
    code: UNREADABLE,
    fields: { reason },
  });
}

/** Opens the output of a custom target. */
async function openReadable(platform: Platform, output: ReadableOutput, signal: AbortSignal): Promise<OpenedSource> {
  const limit = new RequestLimit();
  if (!('url' in output)) return platform.openSource(output, { limit, signal });
  const { url, ...options } = output;
  return platform.openSource(url, { ...options, limit, signal });
}

/** Resolves to the result of `work` on an output that has its name. If the output is found wrong, or after a cancel, it is removed. */
async function orRemoved<T>(target: OutputTarget, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    const error = toDecantError(thrown);
    const isWrong = WRONG.includes(error.code);
    if (!isWrong && error.kind !== 'cancelled') throw error;
    const left: unknown = await target.remove?.(isWrong).catch((thrown) => thrown);
    throw left instanceof DecantError ? withLeft(error, left) : error;
  }
}

/** What is written, and how. */
interface Plan {
  settings: ConvertSettings;
  /** See `SizedFormat`. */
  diskSizes: (number | undefined)[];
  sizes: Sizes;
  /** Identifies the conversion if it can be resumed. */
  identity: string | undefined;
  /** Whether the SHA-256 of the output is wanted. */
  sha256: boolean;
  /** Whether the output is verified. */
  isVerified: boolean;
}

/** Resolves to the identity of a conversion with `resume`. Throws `usage` if it cannot be resumed. */
async function identityToResume(
  target: OutputTarget,
  conversion: ConversionContext,
  chosen: ChosenFormat,
  options: RunOptions,
): Promise<string> {
  if (!target.resumes) throw new DecantError('usage', 'An output of this kind cannot be resumed');
  const identity = await identityOf(conversion, chosen, options, options.signal);
  if (typeof identity === 'string') return identity;
  throw new DecantError('usage', `The conversion cannot be resumed: ${identity.reason}`);
}

/** Prepares the target and writes the output to it. No worker is used any more when it returns. */
async function write(
  target: OutputTarget,
  conversion: ConversionContext,
  plan: Plan,
  meter: Meter,
  signal: AbortSignal,
): Promise<Converted> {
  const { sessions, more = [] } = conversion;
  // The workers start while the target is prepared. Ignores a failure: starting them again below reports it.
  sessions.prepare().catch(() => {});
  let pool: Pool | undefined;
  let session: ImageSession | undefined;
  const beside: ImageSession[] = [];
  let isHealthy = false;
  let wasOverdue = false;
  let isPrepared = false;
  try {
    // First: a target that cannot be written is reported before unlocking, which takes seconds.
    const spec = await prepareTarget(target, conversion, plan, signal);
    isPrepared = true;
    const { resumePoint } = target;
    if (resumePoint) meter.begin(resumePoint);
    const report = (share: number) => meter.unlocking(share);
    session = await ofDisk(conversion, 0, sessions.acquire(signal, report));
    for (const [at, { sessions }] of more.entries())
      beside.push(await ofDisk(conversion, at + 1, sessions.openBeside(session, signal, report)));
    // The workers of a large image start together: the output of a job counts only once all earlier jobs are done.
    await orCancelled(signal, sessions.prepare());
    pool = sessions.acquirePool(more.length > 0);
    // A finished temporary file is not the end yet, nor is an output that is read back before it is completed.
    const isMoreToCome = target.send !== undefined || (plan.isVerified && target.readsBack === 'before');
    const hooks: RunHooks = {
      overdue: () => {
        wasOverdue = true;
        pool?.overdue();
      },
      update: (progress) => {
        meter.update(isMoreToCome ? { ...progress, finalizing: false } : progress);
        target.settled?.({ guest: progress.settled, written: progress.settledWritten });
      },
      check: (converted) => requireComplete(target, conversion, plan, converted, signal),
    };
    const settings = { ...plan.settings, target: spec, resumePoint };
    const converted = await run(
      [session, ...beside],
      plan.diskSizes,
      target.summing?.ranges,
      pool,
      settings,
      hooks,
      signal,
    );
    isHealthy = true;
    return converted;
  } catch (thrown) {
    const error = failureOf(
      conversion,
      beside.reduce((error, session) => session.explain(error), toDecantError(thrown)),
    );
    // The pool may be broken: nothing uses it again.
    if (error.kind === 'internal') pool?.giveUp();
    // A file that changed while it was read looks damaged: report the change instead.
    if (isPrepared && (error.kind === 'corrupt' || error.kind === 'source'))
      for (const { setup } of disksOf(conversion)) await setup.sources.verify();
    throw error;
  } finally {
    pool?.release(isHealthy, wasOverdue);
    // Workers that are being terminated may still write to the target.
    await pool?.ended;
    await Promise.all(beside.map((session) => session.end()));
    await session?.release();
  }
}

/** Resolves to the result of `work` on disk number `at`. If there are several disks, its failure has the name of the disk. */
async function ofDisk<T>(conversion: ConversionContext, at: number, work: Promise<T>): Promise<T> {
  return work.catch((thrown) => {
    const error = toDecantError(thrown);
    throw error.kind === 'cancelled' ? thrown : failureOf(conversion, error, at);
  });
}

/** Prepares the target. Resolves to what the coordinator opens. */
async function prepareTarget(
  target: OutputTarget,
  { platform }: ConversionContext,
  { sizes, identity, sha256 }: Plan,
  signal: AbortSignal,
): Promise<TargetSpec | undefined> {
  const spec = await orTargetFailure(target.prepare(sizes, signal, identity));
  // Where holes are reported, the bytes of the output do not pass.
  if (sha256 && spec && 'port' in spec && spec.ascending && !spec.holes) {
    // Without its code there is no digest; the output is the same.
    const loading = platform.codec('crypt').catch(() => undefined);
    spec.crypt = await orCancelled(signal, loading);
  }
  return spec;
}

/** Fails unless all of the disk was written, and no file has changed, neither of the image nor the one that the output replaces. */
async function requireComplete(
  target: OutputTarget,
  conversion: ConversionContext,
  { sizes: { virtualSize = 0 } }: Plan,
  { progress: { guestDone } }: Converted,
  signal: AbortSignal,
): Promise<void> {
  // More, where a GPT is at the end of a disk that the format makes larger.
  if (guestDone < virtualSize) {
    throw new DecantError('internal', 'A part of the disk was left out');
  }
  for (const { setup } of disksOf(conversion)) await setup.sources.confirm(signal);
  await orTargetFailure(target.verify?.());
  if (signal.aborted) throw cancelled();
}

/** The ports in `target`, to be transferred with it. */
const portsOf = ({ port, bodies }: PortSpec): MessagePort[] => (bodies ? [port, bodies.port] : [port]);

interface RunHooks {
  /** Called if the jobs do not end in time after a cancel. */
  overdue: () => void;
  update: (progress: CrateProgress) => void;
  /** Called before the output is completed. If it fails, the output is abandoned instead. */
  check: (converted: Converted) => Promise<void>;
}

/**
 * Writes the output with the workers of `pool`, checks it, and completes it. The images of the disks are open in the `sessions`, which
 * have one coordinator.
 */
async function run(
  sessions: ImageSession[],
  diskSizes: (number | undefined)[],
  ranges: Float64Array | undefined,
  pool: Pool,
  settings: TargetedSettings,
  { overdue, update, check }: RunHooks,
  signal: AbortSignal,
): Promise<Converted> {
  const session = sessions[0]!;
  const { client } = session;
  const { target } = settings;
  let isCompleting = false;
  const work = (operation: number) =>
    withWorkers(sessions, pool, operation, update, async (connections) => {
      const disks = sessions.map(({ image }, at) => ({
        image,
        diskSize: diskSizes[at],
        ranges,
        pool: connections[at]!.ports,
      }));
      const ports = disks.flatMap(({ pool }) => pool);
      const moved = [...(target && 'port' in target ? portsOf(target) : []), ...ports];
      const request = { ...settings, operation, disks, workers: pool.size };
      const converted = await client.callMoving(moved, 'convert', request);
      // A file is neither completed nor removed while a worker has it open.
      await Promise.all(connections.map((connection) => connection.close()));
      await check(converted).catch(async (thrown) => {
        // The failure of `check` matters, not that of the cleanup.
        await client.call('abandon', operation).catch(() => {});
        throw thrown;
      });
      isCompleting = true;
      await client.call('complete', operation);
      return converted;
    });
  return session.run(signal, work, {
    overdue: () => {
      // The browser cannot be stopped while it completes a file: a cancel is too late then.
      if (!isCompleting) overdue();
      return !isCompleting;
    },
    isElsewhere: () => pool.reasonOfEnd !== undefined,
  });
}

/** Calls `work` with a connection to the workers of `pool` for each session, and starts each worker when the coordinator needs it. */
export async function withWorkers<T>(
  sessions: ImageSession[],
  pool: Pool,
  operation: number,
  update: (progress: CrateProgress) => void,
  work: (connections: Connection[]) => Promise<T>,
): Promise<T> {
  const { client } = sessions[0]!;
  const connections = sessions.map(() => pool.connect());
  let notStarted: unknown;
  const poolEnded = (sentence: string) => {
    // A dead coordinator runs nothing.
    client.call('poolEnded', operation, sentence).catch(() => {});
  };
  pool.onEnd(poolEnded);
  client.on(`worker:${operation}`, (needed) => {
    const { disk, at } = needed as NeededWorker;
    connections[disk]!.begin(at).catch((thrown) => {
      notStarted = thrown;
    });
  });
  client.on(`progress:${operation}`, (detail) => update(detail as CrateProgress));
  try {
    return await work(connections);
  } catch (thrown) {
    throw notStarted ?? thrown;
  } finally {
    await Promise.all(connections.map((connection) => connection.close()));
    pool.offEnd(poolEnded);
    client.off(`worker:${operation}`);
    client.off(`progress:${operation}`);
  }
}

/** Sends the output, which was written to a temporary file. Resolves to the number of bytes that were written, without holes. */
async function send(
  target: OutputTarget,
  { disks, outputSize }: Converted,
  meter: Meter,
  signal: AbortSignal,
): Promise<number> {
  const report = (sent: number) => meter.sending(sent, outputSize);
  const virtualSize = sumOf(disks, 'virtualSize');
  const written = await orTargetFailure(target.send!({ virtualSize, outputSize }, signal, report));
  meter.sent();
  return written;
}

/** Resolves to the result of `work`. Its failure becomes an error of kind `target`. */
export async function orTargetFailure<T>(work: T | Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    throw toTargetError(thrown);
  }
}
