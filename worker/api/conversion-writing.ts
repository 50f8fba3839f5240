// Writes the disk of a conversion: workers read the image, and the target takes what they make.

import type { ImageSession } from '../client-side/image-session.js';
import { cancelled, DecantError, orCancelled, orTargetFailure } from '../errors/errors.js';
import type { Converted, ConvertSettings, CrateProgress } from '../messages/coordinator.js';
import type { PortSpec, TargetSpec } from '../messages/messages.js';
import type { OutputTarget, Sizes } from '../targets/output-target.js';
import { type ConversionContext, disksOf, ofDisk } from './conversion-disks.js';
import { type DiskOperation, withDiskWorkers } from './disk-workers.js';
import type { Meter } from './progress.js';

/** The plan of a conversion: settings, sizes, and whether the output is hashed and verified. */
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
  // The workers start while the target is prepared. Ignores a failure: starting them again below reports it.
  conversion.sessions.prepare().catch(() => {});
  // First: a target that cannot be written is reported before unlocking, which takes seconds.
  const spec = await prepareTarget(target, conversion, plan, signal);
  const { resumePoint } = target;
  if (resumePoint) meter.begin(resumePoint);
  // A finished temporary file is not the end yet, nor is an output that is read back before it is completed.
  const isMoreToCome = target.send !== undefined || (plan.isVerified && target.readsBack === 'before');
  const update = (progress: CrateProgress) => {
    meter.update(isMoreToCome ? { ...progress, finalizing: false } : progress);
    target.settled?.(progress.settled);
  };
  // The browser cannot be stopped while it completes a file: a cancel is too late then.
  let isCompleting = false;
  const hooks = { open: openerOf(conversion, meter, signal), update, isCompleting: () => isCompleting };
  const work = async ({ client, operation, workers, disconnect, ...open }: DiskOperation) => {
    const ranges = target.summing?.ranges;
    const disks = open.disks.map((disk, at) => ({ ...disk, diskSize: plan.diskSizes[at], ranges }));
    const request = { ...plan.settings, target: spec, resumePoint, operation, disks, workers };
    const moved = [...(spec && 'port' in spec ? portsOf(spec) : []), ...open.ports];
    const converted = await client.callMoving(moved, 'convert', request);
    // A file is neither completed nor removed while a worker has it open.
    await disconnect();
    await requireComplete(target, conversion, plan, converted, signal).catch(async (thrown) => {
      // This failure matters, not that of the cleanup.
      await client.call('abandon', operation).catch(() => {});
      throw thrown;
    });
    isCompleting = true;
    await client.call('complete', operation);
    return converted;
  };
  return withDiskWorkers(conversion, hooks, signal, work);
}

/** Returns the function that opens the images of the disks in one coordinator. */
const openerOf =
  (conversion: ConversionContext, meter: Meter, signal: AbortSignal) => async (opened: ImageSession[]) => {
    const report = (share: number) => meter.unlocking(share);
    for (const [at, { sessions }] of disksOf(conversion).entries()) {
      const [host] = opened;
      const opening = host ? sessions.openBeside(host, signal, report) : sessions.acquire(signal, report);
      opened.push(await ofDisk(conversion, at, opening));
    }
    // The workers of a large image start together: the output of a job counts only once all earlier jobs are done.
    await orCancelled(signal, conversion.sessions.prepare());
  };

/** Prepares the target. Resolves to what the coordinator opens. */
async function prepareTarget(
  target: OutputTarget,
  { platform }: ConversionContext,
  { sizes, identity, sha256 }: Plan,
  signal: AbortSignal,
): Promise<TargetSpec | undefined> {
  const spec = await orTargetFailure(target.prepare(sizes, signal, identity));
  // If the target takes holes, not all bytes of the output pass.
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
