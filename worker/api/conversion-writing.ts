// Writes the disk of a conversion: workers read the image, and the target takes what they make.

import type { ImageSession } from '../client-side/image-session.js';
import type { Connection, Pool } from '../client-side/pool.js';
import { cancelled, DecantError, orCancelled, orTargetFailure, toDecantError } from '../errors/errors.js';
import type {
  Converted,
  ConvertSettings,
  CrateProgress,
  NeededWorker,
  TargetedSettings,
} from '../messages/coordinator.js';
import type { PortSpec, TargetSpec } from '../messages/messages.js';
import type { OutputTarget, Sizes } from '../targets/output-target.js';
import { type ConversionContext, disksOf, failureOf } from './conversion-disks.js';
import type { Meter } from './progress.js';

/** What is written, and how. */
export interface Plan {
  settings: ConvertSettings;
  /** The size in bytes of each streamed disk, if it was determined. */
  diskSizes: (number | undefined)[];
  sizes: Sizes;
  /** Identifies the conversion if it can be resumed. */
  identity: string | undefined;
  /** Whether the SHA-256 of the output is wanted. */
  sha256: boolean;
  /** Whether the output is verified. */
  isVerified: boolean;
}

/** Prepares the target and writes the output to it. No worker is used any more when it returns. */
export async function write(
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
    // If the code cannot be loaded, the output has no digest.
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
