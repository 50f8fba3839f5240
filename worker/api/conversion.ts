// One conversion: a session runs it with workers, a target makes a file of it, a signal cancels it.

import type { ImageSession, ImageSetup } from '../client-side/image-session.js';
import type { ImageSessions } from '../client-side/image-sessions.js';
import type { Pool } from '../client-side/pool.js';
import { cancelled, DecantError, type ErrorKind, orCancelled, toDecantError, toTargetError } from '../errors/errors.js';
import { loadPart } from '../errors/load-part.js';
import { anyOf, withListener } from '../errors/signals.js';
import type { TargetSpec } from '../messages/messages.js';
import type { ConvertOptions, Output } from '../public/caller-types.js';
import type { AnyInfo, Kept, Network, Notice, Progress, Result } from '../public/types.js';
import { abandonOutput, isCustomOutput, loadCustomTargets, needless } from '../targets/custom-output.js';
import type { OutputTarget, ResumePoint, Sizes } from '../targets/output-target.js';
import type { Spool } from '../targets/spool.js';
import type { Converted, CrateProgress } from '../worker-side/coordinator-methods.js';
import { identityOf } from './identity.js';
import { isOfDisk } from './notice-rules.js';
import { type ChosenFormat, chosenFormat, settleMemory } from './options.js';
import type { Platform } from './platform.js';
import { Meter } from './progress.js';

/** After these failures, a later conversion can resume. */
const RESUMABLE: ErrorKind[] = ['cancelled', 'source', 'target', 'password', 'missing-file', 'usage', 'internal'];

export interface ConversionContext {
  platform: Platform;
  setup: ImageSetup;
  sessions: ImageSessions;
  info: AnyInfo;
}

/** With `spool`, the output is written to this file first. */
export async function convertImage(
  conversion: ConversionContext,
  output: Output,
  options: ConvertOptions,
  spool?: Spool,
): Promise<Result> {
  let target: OutputTarget;
  try {
    target = await targetOf(conversion, output, options, spool);
  } catch (thrown) {
    const error = toDecantError(thrown);
    abandonOutput(output, error);
    throw error.kind === 'cancelled' ? cancelled('The conversion') : error;
  }
  return convertInto(target, conversion, options);
}

/** Whether the image is a stream, which can be read only once. */
export const isOnce = ({ sources }: ImageSetup): boolean => 'stream' in sources.image.spec;

/** Loads the code for sizes of streamed disks. */
export const loadDiskSizes = () => loadPart('streamed disks', () => import('./disk-size.js'));

/** Converts into `target`, which is not prepared yet. */
export async function convertInto(
  target: OutputTarget,
  conversion: ConversionContext,
  options: ConvertOptions,
): Promise<Result> {
  const unreadable = new AbortController();
  // Called by timers, too, whose errors nobody catches.
  const networks = () => {
    try {
      return [...conversion.setup.sources.networks, ...(target.network ? [target.network] : [])];
    } catch (thrown) {
      unreadable.abort(thrown);
      return [];
    }
  };
  try {
    const onProgress = (progress: Progress) => options.onProgress?.(progress);
    const signal = options.signal ? anyOf([options.signal, unreadable.signal]) : unreadable.signal;
    return await withListener(signal, onProgress, (signal, onProgress) =>
      convertTo(target, conversion, networks, { ...options, signal, onProgress }),
    );
  } catch (thrown) {
    const cause = toDecantError(unreadable.signal.aborted ? unreadable.signal.reason : thrown);
    const reason = target.explain?.(cause) ?? cause;
    const error = reason.kind === 'cancelled' ? cancelled('The conversion') : (target.failure ?? reason);
    const keep = options.resume === true && RESUMABLE.includes(error.kind) && (await isUnchanged(conversion.setup));
    const left: unknown = await target.discard(error, keep).catch((thrown) => thrown);
    if (!(left instanceof DecantError)) throw error;
    // The reason for the failure comes first, then the remains of the output.
    const { kind, code, message } = error;
    const fields = { ...error.fields, ...left.fields, reason: message, left: left.message };
    const ofError = error.cause === undefined ? {} : { cause: error.cause };
    throw new DecantError(kind, `${message}; ${left.message}`, { code, fields, ...ofError });
  }
}

async function targetOf(
  { platform, setup }: ConversionContext,
  output: Output,
  options: ConvertOptions,
  spool: Spool | undefined,
): Promise<OutputTarget> {
  if (isCustomOutput(output)) {
    const { customTarget, spooledTarget } = await orCancelled(options.signal, loadCustomTargets());
    return spool ? spooledTarget(output, spool) : customTarget(output);
  }
  const target = await orCancelled(options.signal, platform.target(output, setup.sources.all, options));
  if (spool) throw needless();
  return target;
}

/** The progress that a conversion with `resume` would continue; undefined if it cannot resume, or only its target knows. */
export async function keptOf(
  { platform, setup, sessions, info }: ConversionContext,
  output: Output,
  options: ConvertOptions,
  signal: AbortSignal,
): Promise<Kept | undefined> {
  // A custom target is not touched.
  if (isCustomOutput(output)) return undefined;
  if (info.needs.some(({ kind }) => kind === 'missing-file')) return undefined;
  const target = await platform.target(output, setup.sources.all, options);
  const chosen = await chosenFormat(sessions, options, signal);
  const { comesInOrder } = sessions;
  const layout = () => sessions.layout(signal);
  const identity = await identityOf(setup, { info, comesInOrder, layout }, chosen, options);
  return typeof identity === 'string' ? target.kept?.(identity) : undefined;
}

const isUnchanged = ({ sources }: ImageSetup): Promise<boolean> =>
  sources.verify().then(
    () => true,
    () => false,
  );

async function convertTo(
  target: OutputTarget,
  { platform, setup, sessions, info }: ConversionContext,
  networks: () => Network[],
  options: ConvertOptions & { signal: AbortSignal },
): Promise<Result> {
  const { signal, twoPass = false } = options;
  if (signal.aborted) throw cancelled();
  const { sources, engine, engineReason, workers } = setup;
  const memory = settleMemory(options, workers, platform, sources.expect);
  const { chosen, diskSize } = await chosenWithSize(target, { platform, setup, sessions, info }, options);
  const { name: format, formatOptions, size, hasFooter } = chosen;
  if (options.resume && !target.resumes) throw new DecantError('usage', 'An output of this kind cannot be resumed');
  const { comesInOrder } = sessions;
  const layout = () => sessions.layout(signal);
  const identity = options.resume
    ? await identityOf(setup, { info, comesInOrder, layout }, chosen, options)
    : undefined;
  if (typeof identity === 'object') {
    throw new DecantError('usage', `The conversion cannot be resumed: ${identity.reason}`);
  }
  const { virtualSize: totalSize = diskSize } = info;
  const meter = new Meter(totalSize, info.fileSize, networks, options.onProgress);
  try {
    const plan = { sizes: { virtualSize: totalSize, outputSize: size, hasFooter }, identity };
    // Without its code there is no digest; the output is the same.
    const crypt = options.sha256 ? () => platform.codec('crypt').catch(() => undefined) : undefined;
    const setting = { format, formatOptions, diskSize, twoPass, memory, crypt };
    const converted = await write(target, { setup, sessions, info, plan, setting, meter, signal });
    const { progress, virtualSize, outputSize, notices, lost, lostRanges, lostBytes } = converted;
    let bytesWritten = progress.written;
    if (target.send) {
      const report = (sent: number) => meter.sending(sent, outputSize);
      bytesWritten = await orTargetError(target.send({ virtualSize, outputSize }, signal, report));
      meter.sent();
    }
    await orTargetError(target.commit(outputSize, signal));
    return {
      virtualSize,
      outputSize,
      bytesRead: progress.read,
      bytesWritten,
      holeBytes: outputSize - bytesWritten,
      notices: [
        ...info.safety.filter(isOfDisk),
        ...notices,
        ...sources.unnoticed.map(unverified),
        ...(target.notices ?? []),
      ],
      verified: sources.unnoticed.length === 0,
      confirmed: target.isConfirmed ?? true,
      lost,
      lostRanges,
      lostBytes,
      ...(target.copy && { copy: target.copy }),
      ...(target.sha256 !== undefined && { sha256: target.sha256 }),
      unusedCompanions: info.unusedCompanions,
      engine,
      engineReason,
      workers,
      time: meter.end(),
    };
  } finally {
    meter.end();
  }
}

/** Resolves to the format of the output, and to the size of a streamed disk, in bytes, if the format or the target needs it first. */
async function chosenWithSize(
  target: OutputTarget,
  conversion: ConversionContext,
  options: ConvertOptions & { signal: AbortSignal },
): Promise<{ chosen: ChosenFormat; diskSize: number | undefined }> {
  const { sessions } = conversion;
  const chosen = await chosenFormat(sessions, options, options.signal);
  const isNeeded = sessions.comesInOrder && (chosen.needsSize || (await orTargetError(target.needsSize?.())));
  if (!isNeeded || isOnce(conversion.setup)) return { chosen, diskSize: undefined };
  const { sizeOfDisk } = await orCancelled(options.signal, loadDiskSizes());
  const diskSize = await sizeOfDisk(conversion, options);
  return { chosen: await chosenFormat(sessions, options, options.signal, diskSize), diskSize };
}

interface Writing extends Omit<ConversionContext, 'platform'> {
  plan: { sizes: Sizes; identity: string | undefined };
  setting: Pick<RunSetup, 'format' | 'formatOptions' | 'diskSize' | 'twoPass' | 'memory'> & {
    /** Loads the code for the SHA-256 of the output, if that is wanted. */
    crypt: (() => Promise<Uint8Array | undefined>) | undefined;
  };
  meter: Meter;
  signal: AbortSignal;
}

/** Prepares the target and writes the output to it. No worker is used any more when it returns. */
async function write(
  target: OutputTarget,
  { setup: { sources }, sessions, info, plan, setting: { crypt, ...setting }, meter, signal }: Writing,
): Promise<Converted> {
  // The workers start while the target is prepared. Ignores a failure: starting them again below reports it.
  sessions.prepare().catch(() => {});
  let pool: Pool | undefined;
  let session: ImageSession | undefined;
  let healthy = false;
  let wasOverdue = false;
  let isPrepared = false;
  try {
    // First: a target that cannot be written is reported before unlocking, which takes seconds.
    const spec = await orTargetError(target.prepare(plan.sizes, signal, plan.identity));
    isPrepared = true;
    const { resumePoint } = target;
    // Where holes are reported, the bytes of the output do not pass.
    if (crypt && 'port' in spec && spec.ordered && !spec.holes) spec.crypt = await orCancelled(signal, crypt());
    if (resumePoint) meter.begin(resumePoint);
    session = await sessions.acquire(signal, (share) => meter.unlocking(share));
    // The workers of a large image start together: the output of a job counts only once all earlier jobs are done.
    await orCancelled(signal, sessions.prepare());
    pool = sessions.acquirePool();
    const check = async ({ progress }: Converted) => {
      const { guestDone } = progress;
      const isWhole = guestDone === (info.virtualSize ?? guestDone);
      if (!isWhole) throw new DecantError('internal', 'A part of the disk was left out');
      await sources.confirm(signal);
      await orTargetError(target.verify?.());
      if (signal.aborted) throw cancelled();
    };
    const converted = await run(
      { session, pool, ...setting, target: spec, resumePoint },
      () => {
        wasOverdue = true;
        pool?.overdue();
      },
      (progress) => {
        // A finished temporary file is not the end yet.
        meter.update(target.send ? { ...progress, finalizing: false } : progress);
        target.settled?.({ guest: progress.settled, written: progress.settledWritten });
      },
      signal,
      check,
    );
    healthy = true;
    return converted;
  } catch (thrown) {
    const error = toDecantError(thrown);
    // The pool may be broken: nothing uses it again.
    if (error.kind === 'internal') pool?.giveUp();
    // A file that changed while it was read looks damaged: report the change instead.
    if (isPrepared && (error.kind === 'corrupt' || error.kind === 'source')) await sources.verify();
    throw error;
  } finally {
    pool?.release(healthy, wasOverdue);
    // Workers that are being terminated may still write to the target.
    await pool?.ended;
    await session?.release();
  }
}

const unverified = (message: string): Notice => ({ code: 'unverified', message, fields: {} });

/** Resolves to the result of `work`. Its failure becomes an error of kind `target`. */
async function orTargetError<T>(work: T | Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    throw toTargetError(thrown);
  }
}

interface RunSetup {
  session: ImageSession;
  pool: Pool;
  format: string;
  formatOptions: Record<string, string>;
  diskSize: number | undefined;
  twoPass: boolean;
  target: TargetSpec;
  memory: number;
  resumePoint: ResumePoint | undefined;
}

/**
 * Writes the output, calls `check`, and completes the output unless `check` fails. Calls `overdue` if the jobs do not end in
 * time after a cancel.
 */
async function run(
  { session, pool, format, formatOptions, diskSize, twoPass, target, memory, resumePoint }: RunSetup,
  overdue: () => void,
  update: (progress: CrateProgress) => void,
  signal: AbortSignal,
  check: (converted: Converted) => Promise<void>,
): Promise<Converted> {
  const { client, image } = session;
  const connection = pool.connect();
  let completing = false;
  let notBegun: unknown;
  const work = async (operation: number): Promise<Converted> => {
    const poolEnded = (sentence: string) => {
      // A dead coordinator runs nothing.
      client.call('poolEnded', operation, sentence).catch(() => {});
    };
    pool.onEnd(poolEnded);
    client.on(`worker:${operation}`, (at) => {
      connection.begin(at as number).catch((thrown) => {
        notBegun = thrown;
      });
    });
    client.on(`progress:${operation}`, (detail) => update(detail as CrateProgress));
    try {
      const { ports } = connection;
      const moved = 'port' in target ? [target.port, ...ports] : ports;
      const output = { format, formatOptions, diskSize, twoPass, target, memory, resumePoint };
      const conversion = { operation, image, pool: ports, workers: pool.size, ...output };
      const converted = await client.callMoving(moved, 'convert', conversion);
      // A file is neither completed nor removed while a worker has it open.
      await connection.close();
      try {
        await check(converted);
      } catch (thrown) {
        // The failure of `check` matters, not that of the cleanup.
        await client.call('abandon', operation).catch(() => {});
        throw thrown;
      }
      completing = true;
      await client.call('complete', operation);
      return converted;
    } catch (thrown) {
      throw notBegun ?? thrown;
    } finally {
      await connection.close();
      pool.offEnd(poolEnded);
      client.off(`worker:${operation}`);
      client.off(`progress:${operation}`);
    }
  };
  return session.run(signal, work, {
    overdue: () => {
      // The browser cannot be stopped while it completes a file: a cancel is too late then.
      if (!completing) overdue();
      return !completing;
    },
    isElsewhere: () => pool.reasonOfEnd !== undefined,
  });
}
