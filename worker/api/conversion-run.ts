// One run of a conversion: its disk is written to a target, which is then sent, verified and completed.

import { DecantError, orTargetFailure } from '../errors/errors.js';
import type { Converted, DigestKind } from '../messages/coordinator.js';
import type { SettledOptions } from '../public/caller-types.js';
import type { ConvertResult } from '../public/types.js';
import type { OutputTarget } from '../targets/output-target.js';
import { type ConversionContext, disksOf, sumOf, totalSize } from './conversion-disks.js';
import { resultOf } from './conversion-result.js';
import { type Plan, write } from './conversion-writing.js';
import { orDiscarded, orRemoved } from './discarding.js';
import { identityOf } from './identity.js';
import { type RunOptions, settleMemory } from './options.js';
import { type ChosenFormat, chosenFormat } from './output-format.js';
import { Meter } from './progress.js';
import { readBack, type Verification } from './read-back.js';

/** How guest sums are computed. */
export type Summing = NonNullable<OutputTarget['summing']>;

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
      verification && readBack(target, conversion, converted, chosen, verification, options, meter);
    const before = target.readsBack === 'before' ? await verified() : undefined;
    const bytesWritten = target.send ? await send(target, converted, meter, signal) : converted.progress.written;
    await orTargetFailure(target.commit(converted.outputSize, signal));
    const after = target.readsBack === 'after' ? await orRemoved(target, verified()) : undefined;
    return resultOf(target, conversion, chosen, converted, bytesWritten, meter.end(), before ?? after);
  } finally {
    meter.end();
  }
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
