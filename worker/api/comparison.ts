// Compares the disks of two images: both are opened in the coordinator of the first one, and their jobs run in one pool.

import type { ImageSession } from '../client-side/image-session.js';
import type { Pool } from '../client-side/pool.js';
import { toDecantError } from '../errors/errors.js';
import { withListener } from '../errors/signals.js';
import type { CompareRequest, ComparisonDone, CrateCompared } from '../messages/coordinator.js';
import type { CompareOptions, CompareResult, DiskRange, Progress } from '../public/types.js';
import { type ConversionContext, failureOf } from './conversion-disks.js';
import { withWorkers } from './conversion-writing.js';
import { settleMemory } from './options.js';
import { type ProgressListener, Runs } from './whole-progress.js';

type Options = CompareOptions & { signal: AbortSignal };

/** Compares the disks of two images. Fails as a conversion of either does. */
export async function compareImages(
  one: ConversionContext,
  other: ConversionContext,
  { onProgress = () => {}, onRanges, ...options }: Options,
): Promise<CompareResult> {
  const both = { ...one, more: [other] };
  const sizes = sizesOf(one, other);
  const compared = await withListener(options.signal, onProgress, (signal, progress) =>
    withListener(signal, onRanges ?? (() => {}), async (signal, ranges) => {
      const runs = new Runs(progress);
      const unlocking = [runs.unlocking(), runs.unlocking()];
      let comparing: ProgressListener | undefined;
      const done = ({ done, offset }: ComparisonDone) => {
        comparing ??= runs.next(0);
        comparing(progressOf(done, offset, Math.max(...sizes)));
      };
      const listeners = {
        unlocking,
        done,
        ...(onRanges && { differing: (numbers: Float64Array) => ranges(rangesOf(numbers)) }),
      };
      return run(both, other, { ...options, signal }, listeners);
    }),
  );
  return resultOf(compared, sizes, options.strict ?? false);
}

/** The sizes of the disks; 0 for a streamed one, which is refused. */
const sizesOf = (one: ConversionContext, other: ConversionContext): [number, number] => [
  one.info.virtualSize ?? 0,
  other.info.virtualSize ?? 0,
];

const progressOf = (done: number, firstDifference: number | undefined, size: number): Progress => ({
  phase: 'comparing',
  fraction: size === 0 ? 1 : done / size,
  ...(firstDifference !== undefined && { firstDifference }),
});

function rangesOf(numbers: Float64Array): DiskRange[] {
  return Array.from({ length: numbers.length / 2 }, (_, at) => ({
    offset: numbers[2 * at]!,
    length: numbers[2 * at + 1]!,
  }));
}

function resultOf(compared: CrateCompared, virtualSizes: [number, number], strict: boolean): CompareResult {
  const { offset, bytes, ranges, allocation, lost } = compared;
  const isAlike = virtualSizes[0] === virtualSizes[1] && allocation === undefined;
  const sum = (name: 'lostRanges' | 'lostBytes') => lost.reduce((sum, disk) => sum + disk[name], 0);
  return {
    same: offset === undefined && (!strict || isAlike),
    virtualSizes,
    ...(offset !== undefined && { firstDifference: offset }),
    differentBytes: bytes,
    differentRanges: ranges,
    ...(allocation !== undefined && { firstAllocationDifference: allocation }),
    lost: lost.flatMap(({ lost }, at) => lost.map((range) => ({ ...range, disk: at + 1 }))),
    lostRanges: sum('lostRanges'),
    lostBytes: sum('lostBytes'),
  };
}

interface Listeners {
  /** For the share of the unlocking of each image. */
  unlocking: ((share: number) => void)[];
  done: (detail: ComparisonDone) => void;
  /** Missing if the ranges are not wanted. */
  differing?: (numbers: Float64Array) => void;
}

async function run(
  both: ConversionContext,
  other: ConversionContext,
  { signal, strict = false, firstOnly = false }: Options,
  listeners: Listeners,
): Promise<CrateCompared> {
  const { sessions, setup, platform } = both;
  sessions.prepare().catch(() => {});
  let pool: Pool | undefined;
  let session: ImageSession | undefined;
  let beside: ImageSession | undefined;
  let isHealthy = false;
  let wasOverdue = false;
  try {
    session = await sessions.acquire(signal, listeners.unlocking[0]);
    beside = await other.sessions.openBeside(session, signal, listeners.unlocking[1]!);
    pool = sessions.acquirePool(true);
    const request = {
      ...{ strict, firstOnly, workers: pool.size },
      memory: settleMemory({}, setup.workers, platform, setup.sources.expect || other.setup.sources.expect),
      shared: sharedFiles(both, other),
      reportsRanges: listeners.differing !== undefined,
    };
    const overdue = () => {
      wasOverdue = true;
      pool?.overdue();
    };
    const compared = await compareIn([session, beside], pool, request, listeners, overdue, signal);
    for (const { setup } of [both, other]) await setup.sources.confirm(signal);
    isHealthy = true;
    return compared;
  } catch (thrown) {
    const error = failureOf(both, toDecantError(beside ? beside.explain(toDecantError(thrown)) : thrown));
    // The pool may be broken: nothing uses it again.
    if (error.kind === 'internal') pool?.giveUp();
    // A file that changed while it was read looks damaged: report the change instead.
    if (error.kind === 'corrupt' || error.kind === 'source')
      for (const { setup } of [both, other]) await setup.sources.verify();
    throw error;
  } finally {
    pool?.release(isHealthy, wasOverdue);
    await pool?.ended;
    await beside?.end();
    await session?.release();
  }
}

/** The companions that both images have, by their numbers among the sources of each. */
function sharedFiles(one: ConversionContext, other: ConversionContext): [number, number][] {
  const identities = ({ setup }: ConversionContext) => setup.sources.all.map(({ identity }) => identity);
  const others = identities(other);
  return identities(one)
    .map((identity, at): [number, number] => [at, at === 0 ? -1 : others.indexOf(identity, 1)])
    .filter(([_, at]) => at > 0);
}

/** Compares the disks of the two sessions, which have one coordinator. `overdue` is called if that does not end in time after a cancel. */
function compareIn(
  sessions: [ImageSession, ImageSession],
  pool: Pool,
  settings: Omit<CompareRequest, 'operation' | 'disks'>,
  { done, differing = () => {} }: Omit<Listeners, 'unlocking'>,
  overdue: () => void,
  signal: AbortSignal,
): Promise<CrateCompared> {
  const [session] = sessions;
  const { client } = session;
  const work = (operation: number) =>
    withWorkers(
      sessions,
      pool,
      operation,
      () => {},
      async (connections) => {
        const disks = sessions.map(({ image }, at) => ({
          image,
          diskSize: undefined,
          ranges: undefined,
          pool: connections[at]!.ports,
        }));
        const ports = disks.flatMap(({ pool }) => pool);
        client.on(`compared:${operation}`, (detail) => done(detail as ComparisonDone));
        client.on(`differing:${operation}`, (ranges) => differing(ranges as Float64Array));
        try {
          return await client.callMoving(ports, 'compare', { ...settings, operation, disks });
        } finally {
          client.off(`compared:${operation}`);
          client.off(`differing:${operation}`);
        }
      },
    );
  return session.run(signal, work, {
    overdue: () => {
      overdue();
      return true;
    },
    isElsewhere: () => pool.reasonOfEnd !== undefined,
  });
}
