// Conversions to the outputs of callers: which target, which format, and whether the size of the disk is needed first.

import type { ImageSetup } from '../client-side/image-session.js';
import {
  cancelled,
  DecantError,
  orCancelled,
  orTargetError,
  orTargetFailure,
  toDecantError,
} from '../errors/errors.js';
import { loadPart } from '../errors/load-part.js';
import type { Output, SettledOptions } from '../public/caller-types.js';
import type { ConvertResult, SavedProgress } from '../public/types.js';
import { abandonOutput, canBeReadBack, isCustomOutput, loadCustomTargets } from '../targets/custom-output.js';
import type { OutputTarget, Spool } from '../targets/output-target.js';
import { needless } from '../targets/output-target.js';
import type { ConversionContext } from './conversion-disks.js';
import { type SizedFormat, writeTo } from './conversion-run.js';
import { orDiscarded } from './discarding.js';
import { identityOf } from './identity.js';
import type { CancellableOptions, RunOptions } from './options.js';
import { type ChosenFormat, chosenFormat, loadPlaces } from './output-format.js';
import type { StoredDisk } from './streamed-disks.js';
import { type ProgressListener, Runs } from './whole-progress.js';

/** Loads the code for streamed disks. */
export const loadStreamedDisks = () => loadPart('streamed disks', () => import('./streamed-disks.js'));

/** The advice if a stream's disk cannot be stored: raw, for example, does not need the size first. */
const ANOTHER_FORMAT = 'choose another output format, such as raw';

/** Loads the code that verifies outputs. */
const loadVerifying = () => loadPart('verifying', () => import('./verifying.js'));

/**
 * Converts the image to `output`. `spool` is a temporary file for the output, which is sent when it is complete. For a streamed image,
 * the file is used only where it is needed: for an output that takes bytes in ascending order only, and for the disk of a stream, if
 * its size is needed first.
 */
export async function convertImage(
  conversion: ConversionContext,
  output: Output,
  options: CancellableOptions,
  spool: Spool | undefined,
): Promise<ConvertResult> {
  if (!spool || !conversion.sessions.opened.comesInOrder) return convertTo(conversion, output, options, spool);
  const { platform, setup } = conversion;
  const runs = new Runs((progress) => options.onProgress?.(progress));
  let ofOutput: Spool | undefined;
  let stored: StoredDisk | undefined;
  try {
    ofOutput = takesSpool(output) ? spool : undefined;
    if (await isSizeNeeded(conversion, output, options)) {
      const { storedDisk } = await orCancelled(options.signal, loadStreamedDisks());
      const passes = 1 + Number(ofOutput !== undefined) + Number(options.verify === true);
      const listening = { ...options, onProgress: runs.next(passes) };
      stored = await storedDisk(alone(conversion), listening, 'measuring', ANOTHER_FORMAT);
    }
  } catch (thrown) {
    throw abandoned(output, thrown, options.signal);
  }
  if (!stored) return convertTo(conversion, output, options, ofOutput);
  try {
    const second = ofOutput && platform.spool(options, setup.sources.all, 'convert without it');
    const rest = { ...options, onProgress: runs.next(0) };
    const disks = { ...stored.disk, ...(conversion.more && { more: conversion.more }) };
    return await convertTo(disks, output, rest, second);
  } finally {
    await stored.remove();
  }
}

/** Abandons the output of a conversion that fails before it writes. Returns the error. */
export function abandoned(output: Output, thrown: unknown, signal: AbortSignal): DecantError {
  const error = toDecantError(thrown);
  abandonOutput(output, error);
  return error.kind === 'cancelled' ? cancelled('The conversion', signal) : error;
}

/** Converts the image to `output`, with `spool` through this temporary file. */
async function convertTo(
  conversion: ConversionContext,
  output: Output,
  options: CancellableOptions,
  spool: Spool | undefined,
): Promise<ConvertResult> {
  let target: OutputTarget;
  let placed: CancellableOptions;
  try {
    placed = await forPlace(output, options);
    target = await targetOf(conversion, output, placed, spool);
  } catch (thrown) {
    throw abandoned(output, thrown, options.signal);
  }
  return orDiscarded(target, conversion, placed, async (running) => {
    const verification = placed.verify ? await verificationOf(conversion, running, options.verify !== true) : undefined;
    const runs = new Runs(running.onProgress);
    const passes = 1 + Number(target.send !== undefined) + Number(verification !== undefined);
    const sized = await sizedFormat(target, conversion, running, () => runs.next(passes));
    return writeTo(target, conversion, { ...running, onProgress: runs.next(0) }, { ...sized, verification });
  });
}

/** A new verification of the disks of a conversion. */
async function verificationOf(conversion: ConversionContext, { signal }: RunOptions, isOptional: boolean) {
  const { newVerification } = await orCancelled(signal, loadVerifying());
  return newVerification([conversion, ...(conversion.more ?? [])], isOptional);
}

/**
 * Resolves to `options` with what the place wants by default: no holes if it refuses sparse files, and a verified output if the place says
 * so and the output can be read back. Fails with `usage` for an unknown place.
 */
async function forPlace<T extends SettledOptions>(output: Output, options: T): Promise<T> {
  if (options.for === undefined) return options;
  const { refusesSparse, verifies } = await loadPlaces();
  const sparse = options.sparse ?? (refusesSparse(options.for) ? false : undefined);
  const verify = options.verify ?? (verifies(options.for) && canBeReadBack(output));
  return { ...options, verify, ...(sparse !== undefined && { sparse }) };
}

async function targetOf(
  { platform, setup, more = [] }: ConversionContext,
  output: Output,
  options: CancellableOptions,
  spool: Spool | undefined,
): Promise<OutputTarget> {
  if (isCustomOutput(output)) {
    const { customTarget, spooledTarget } = await orCancelled(options.signal, loadCustomTargets());
    return spool ? spooledTarget(output, spool, options.verify) : customTarget(output, options.verify);
  }
  const sources = [setup, ...more.map(({ setup }) => setup)].flatMap((setup) => setup.sources.all);
  const target = await orCancelled(options.signal, platform.target(output, sources, options));
  if (spool) throw needless();
  return target;
}

/**
 * Resolves to the format of the output, and to the sizes of streamed disks, in bytes, if the format or the target needs them first. `listen`
 * returns the listener of a pass that measures one.
 */
async function sizedFormat(
  target: OutputTarget,
  conversion: ConversionContext,
  options: RunOptions,
  listen: () => ProgressListener,
): Promise<SizedFormat> {
  const { more = [] } = conversion;
  const { chosen, diskSize } = await sizedDisk(target, alone(conversion), options, listen);
  if (more.length === 0) return { chosen, diskSizes: [diskSize] };
  const sizes: (number | undefined)[] = [];
  for (const other of more) {
    if (isReadOnce(other.setup)) {
      const message = 'A stream can be the first disk only, since its size is needed first; save the image as a file';
      throw new DecantError('unsupported', message, { code: 'size-needed' });
    }
    sizes.push((await sizedDisk(target, other, options, listen)).diskSize);
  }
  const { name, formatOptions } = chosen;
  const known = more.map(({ info }, at) => info.virtualSize ?? sizes[at]!);
  await conversion.sessions.output(name, formatOptions, options.signal, diskSize, known);
  return { chosen, diskSizes: [diskSize, ...sizes] };
}

/** Resolves to the format of the output for the disk of one image, and to its size if it is streamed and the size is needed first. */
async function sizedDisk(
  target: OutputTarget,
  conversion: ConversionContext,
  options: RunOptions,
  listen: () => ProgressListener,
): Promise<{ chosen: ChosenFormat; diskSize: number | undefined }> {
  const { sessions } = conversion;
  const { signal } = options;
  const chosen = await chosenFormat(sessions, options, signal);
  const { fixGpt, size } = options;
  const isNeeded =
    sessions.opened.comesInOrder &&
    size === undefined &&
    (chosen.needsSize || fixGpt || (await orTargetFailure(target.needsSize?.())));
  if (!isNeeded || isReadOnce(conversion.setup)) return { chosen, diskSize: undefined };
  const { sizeOfDisk } = await orCancelled(signal, loadStreamedDisks());
  const diskSize = await sizeOfDisk(conversion, { ...options, onProgress: listen() });
  return { chosen: await chosenFormat(sessions, options, signal, diskSize), diskSize };
}

/** The image without further disks. */
const alone = ({ platform, setup, sessions, info }: ConversionContext): ConversionContext => ({
  platform,
  setup,
  sessions,
  info,
});

/** Whether the image is a stream, which can be read only once. */
const isReadOnce = ({ sources }: ImageSetup): boolean => 'stream' in sources.image.spec;

/** Whether the output may need a temporary file. */
const takesSpool = (output: Output): boolean =>
  isCustomOutput(output) && (!('write' in output) || orTargetError(() => output.ascending === true));

/**
 * Whether the size of a disk that can be read only once is needed first, by the format or by the target. Fails as the choice of the
 * format does, or as the target is refused.
 */
async function isSizeNeeded(
  { platform, setup, sessions }: ConversionContext,
  output: Output,
  options: CancellableOptions,
): Promise<boolean> {
  if (options.size !== undefined) return false;
  if (options.fixGpt && isReadOnce(setup)) return true;
  try {
    await chosenFormat(sessions, options, options.signal);
  } catch (thrown) {
    if (!isReadOnce(setup) || toDecantError(thrown).code !== 'size-needed') throw thrown;
    return true;
  }
  if (!isReadOnce(setup) || isCustomOutput(output)) return false;
  const target = await platform.target(output, setup.sources.all, options);
  return (await orTargetFailure(target.needsSize?.())) ?? false;
}

/** The progress that a conversion with `resume` would continue; undefined if it cannot resume, or only its target knows. */
export async function savedProgressOf(
  conversion: ConversionContext,
  output: Output,
  options: SettledOptions,
  signal: AbortSignal,
): Promise<SavedProgress | undefined> {
  // A custom target is not touched.
  if (isCustomOutput(output)) return undefined;
  const { platform, setup, sessions, info } = conversion;
  if (info.needs.some(({ kind }) => kind === 'missing-file')) return undefined;
  const target = await platform.target(output, setup.sources.all, options);
  const chosen = await chosenFormat(sessions, options, signal);
  const identity = await identityOf(conversion, chosen, await forPlace(output, options), signal);
  return typeof identity === 'string' ? target.savedProgress?.(identity) : undefined;
}
