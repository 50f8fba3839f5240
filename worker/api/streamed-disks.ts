// Streamed disks: their size, for outputs that state it before the disk, as the container states it or measured by a first pass; and their
// storage in a temporary file, if they can be read only once, or must be read at any position.

import { ImageSessions, LayerPasswords } from '../client-side/image-sessions.js';
import { DecantError, orCancelled } from '../errors/errors.js';
import type { Notice, Phase } from '../public/types.js';
import { loadCustomTargets } from '../targets/custom-output.js';
import type { ConversionContext } from './conversion-disks.js';
import { convertInto } from './conversion-run.js';
import type { CancellableOptions } from './options.js';
import { certainSize, sizeInArchive } from './stated-size.js';
import { OTHERWISE, UnpackedFile } from './unpacking.js';
import { asPhase } from './whole-progress.js';

/**
 * Resolves to the size of the streamed disk of `conversion` in bytes, without reading the disk if its container states the size. The
 * conversion fails if that is wrong. Otherwise reads the disk, with progress in the phase `measuring`, and fails as that does.
 */
export async function sizeOfDisk(conversion: ConversionContext, options: CancellableOptions): Promise<number> {
  const { sessions, info } = conversion;
  const isInArchive = info.containers.some(({ member }) => member !== undefined);
  const size = isInArchive
    ? sizeInArchive(info, sessions.opened.members)
    : certainSize(await sessions.statedSize(options.signal));
  return size ?? measured(conversion, options);
}

async function measured(conversion: ConversionContext, options: CancellableOptions): Promise<number> {
  const { signal, memory } = options;
  const { customTarget } = await orCancelled(signal, loadCustomTargets());
  const ignore = async () => {};
  const target = customTarget({ write: ignore, hole: ignore, close: ignore, abort: ignore });
  const onProgress = asPhase('measuring', options.onProgress!);
  const listening = { signal, onProgress, ...(memory !== undefined && { memory }) };
  return (await convertInto(target, conversion, listening)).virtualSize;
}

/** The disk of a streamed image in a temporary file. */
export interface StoredDisk {
  /** The disk, with the notices of the streamed image. */
  disk: ConversionContext;
  /** Ends the sessions of the disk, and removes the file. */
  remove(): Promise<void>;
}

/**
 * Writes the disk of a streamed image to a temporary file, for which `options` have `spool`, and opens it. The phase of that is `phase`;
 * `otherwise` is the advice if the file cannot be made. The image itself stays as it is. The caller must remove the disk.
 */
export async function storedDisk(
  conversion: ConversionContext,
  options: Pick<CancellableOptions, 'signal' | 'spool' | 'sparse' | 'onProgress'>,
  phase: Phase,
  otherwise = OTHERWISE,
): Promise<StoredDisk> {
  const { platform, setup, info } = conversion;
  const { signal } = options;
  const file = new UnpackedFile(platform.spool(options, setup.sources.all, otherwise)!);
  const listening = { signal, onProgress: asPhase(phase, options.onProgress!) };
  const { notices } = await convertInto(file, conversion, listening);
  const content = file.content!;
  try {
    const settings = { ...setup.settings, format: 'raw', unpack: false, disk: undefined, snapshot: undefined };
    const ofDisk = { ...setup, sources: setup.sources.withImage(content), settings };
    const sessions = await ImageSessions.open(ofDisk, new LayerPasswords({}), signal);
    const { virtualSize, fileSize } = sessions.info;
    if (virtualSize === undefined || fileSize === undefined)
      throw new DecantError('internal', 'A stored disk has no size');
    const safety = [...info.safety, ...notices.filter((notice) => isOfStream(notice, info.safety))];
    const disk = { platform, setup: ofDisk, sessions, info: { ...info, safety, virtualSize, fileSize } };
    const remove = async () => {
      await sessions.end();
      await content.close();
    };
    return { disk, remove };
  } catch (thrown) {
    await content.close();
    throw thrown;
  }
}

/** Whether the notice of a conversion was found in the stream itself. The next conversion repeats the others. */
const isOfStream = ({ code, message }: Notice, known: readonly Notice[]): boolean =>
  code !== 'unverified' && !known.some((notice) => notice.code === code && notice.message === message);
