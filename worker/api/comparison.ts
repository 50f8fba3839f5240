// Compares the disks of two images: both are opened in the coordinator of the first one, and their jobs run in one pool.

import type { ImageSession } from '../client-side/image-session.js';
import { orCancelled } from '../errors/errors.js';
import { withListener } from '../errors/signals.js';
import type { ComparisonDone, CrateCompared } from '../messages/coordinator.js';
import type { CompareOptions, CompareResult, DiskRange, Notice, Progress } from '../public/types.js';
import { loadStreamedDisks } from './conversion.js';
import { type ConversionContext, noticeOf, ofDisk, unnoticedIn } from './conversion-disks.js';
import { withDiskWorkers } from './disk-workers.js';
import { isOfDisk } from './notice-rules.js';
import { settleMemory } from './options.js';
import { type ProgressListener, Runs } from './whole-progress.js';

type Options = CompareOptions & { signal: AbortSignal };

/** Compares the disks of two images. With `spool`, stores a streamed one first. Fails as a conversion of either does. */
export async function compareImages(
  one: ConversionContext,
  other: ConversionContext,
  { onProgress = () => {}, onRanges, spool, ...options }: Options,
): Promise<CompareResult> {
  const isSpooled = one.platform.spool({ spool }, [], '') !== undefined;
  const isStored = ({ sessions }: ConversionContext) => isSpooled && sessions.opened.comesInOrder;
  return withListener(options.signal, onProgress, (signal, progress) => {
    const runs = new Runs(progress);
    const images = [one, other];
    /** Calls `work` with image number `at`, which can be read at any position: with its stored disk, if it is streamed. */
    const withDisk = async <T>(at: number, work: (disk: ConversionContext) => Promise<T>): Promise<T> => {
      const image = images[at]!;
      if (!isStored(image)) return work(image);
      const { storedDisk } = await orCancelled(signal, loadStreamedDisks());
      const left = 1 + images.slice(at + 1).filter(isStored).length;
      const storing = storedDisk(image, { signal, spool, onProgress: runs.next(left) }, 'unpacking');
      const stored = await ofDisk({ ...one, more: [other] }, at, storing);
      try {
        return await work(stored.disk);
      } finally {
        await stored.remove();
      }
    };
    return withDisk(0, (first) =>
      withDisk(1, async (second) => {
        const compared = await compareDisks(first, second, { ...options, onRanges, signal }, runs);
        const noticesOf = ({ info }: ConversionContext, at: number): Notice[] => {
          const found = [...info.safety.filter(isOfDisk), ...compared.notices[at]!];
          return found.map((notice) => noticeOf(images, at, notice));
        };
        const notices = [...[first, second].flatMap(noticesOf), ...unnoticedIn(images)];
        return { ...resultOf(compared, sizesOf(first, second), options.strict ?? false), notices };
      }),
    );
  });
}

/** Compares disks that can be read at any position. */
async function compareDisks(
  one: ConversionContext,
  other: ConversionContext,
  { onRanges, ...options }: Omit<Options, 'onProgress' | 'spool'>,
  runs: Runs,
): Promise<CrateCompared> {
  const unlocking = [runs.unlocking(), runs.unlocking()];
  let comparing: ProgressListener | undefined;
  const done = ({ done, offset }: ComparisonDone) => {
    comparing ??= runs.next(0);
    comparing(progressOf(done, offset, Math.max(...sizesOf(one, other))));
  };
  return withListener(options.signal, onRanges ?? (() => {}), (signal, ranges) => {
    const differing = (numbers: Float64Array) => ranges(rangesOf(numbers));
    const listeners = { unlocking, done, ...(onRanges && { differing }) };
    return run({ ...one, more: [other] }, other, { ...options, signal }, listeners);
  });
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

function resultOf(
  compared: CrateCompared,
  virtualSizes: [number, number],
  strict: boolean,
): Omit<CompareResult, 'notices'> {
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
  /** Called with the share of the unlocking that is done, one for each image. */
  unlocking: ((share: number) => void)[];
  done: (detail: ComparisonDone) => void;
  /** Missing if the ranges are not wanted. */
  differing?: (numbers: Float64Array) => void;
}

async function run(
  both: ConversionContext,
  other: ConversionContext,
  { signal, strict = false, firstOnly = false }: Pick<Options, 'signal' | 'strict' | 'firstOnly'>,
  { unlocking, done, differing }: Listeners,
): Promise<CrateCompared> {
  const { sessions, setup, platform } = both;
  sessions.prepare().catch(() => {});
  const open = async (opened: ImageSession[]) => {
    const session = await sessions.acquire(signal, unlocking[0]);
    opened.push(session);
    opened.push(await other.sessions.openBeside(session, signal, unlocking[1]!));
  };
  return withDiskWorkers(both, { open }, signal, async ({ client, operation, disks, ports, workers }) => {
    const request = {
      ...{ operation, disks, workers, strict, firstOnly },
      memory: settleMemory({}, setup.workers, platform, setup.sources.expect || other.setup.sources.expect),
      shared: sharedFiles(both, other),
      reportsRanges: differing !== undefined,
    };
    client.on(`compared:${operation}`, (detail) => done(detail as ComparisonDone));
    client.on(`differing:${operation}`, (ranges) => differing?.(ranges as Float64Array));
    try {
      const compared = await client.callMoving(ports, 'compare', request);
      for (const { setup } of [both, other]) await setup.sources.confirm(signal);
      return compared;
    } finally {
      client.off(`compared:${operation}`);
      client.off(`differing:${operation}`);
    }
  });
}

/** The companions that both images have, by their numbers among the sources of each. */
function sharedFiles(one: ConversionContext, other: ConversionContext): [number, number][] {
  const identities = ({ setup }: ConversionContext) => setup.sources.all.map(({ identity }) => identity);
  const others = identities(other);
  return identities(one)
    .map((identity, at): [number, number] => [at, at === 0 ? -1 : others.indexOf(identity, 1)])
    .filter(([_, at]) => at > 0);
}
