// The context of a command, and code that the commands for one disk share.

import type { AnyImage } from '../node.js';
import { spoolFolder } from '../targets/node/spool-file.js';
import type { ImageArguments, OpenArguments } from './arguments.js';
import { imageOf, imageOpener, mustBeUnpacked, type OpenDisk } from './open-image.js';
import { shownInput } from './operands.js';
import { WaitingLines } from './progress.js';
import { type Unpacking, UnpackingReport } from './unpacking.js';

/** The context of a command, besides its arguments. */
export class RunContext {
  /** Reports that a server is awaited. */
  readonly waiting = new WaitingLines();

  constructor(
    /** The number of workers, if it is stated. */
    readonly workers: number | undefined,
    readonly signal: AbortSignal,
  ) {}

  /** Returns the function that opens `image`. Without `unpacking`, the image is never unpacked. */
  opener(image: string, opening: OpenArguments, unpacking?: Unpacking): Promise<OpenDisk> {
    const { workers, waiting, signal } = this;
    return imageOpener(image, opening, { workers, onWaiting: waiting.report, unpacking, signal });
  }
}

/** Runs `work`. If it fails because the image cannot be read in place, unpacks the image and runs it again. */
export async function orUnpacked<T>(unpacking: Unpacking, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (unpacking.isNeeded || !mustBeUnpacked(thrown)) throw thrown;
    unpacking.isNeeded = true;
    return work();
  }
}

/** The arguments of a command that reads one disk, and unpacks it in `spool` if it must. `quiet`: it does not say so. */
type DiskArguments = ImageArguments & { spool: string | undefined; quiet?: boolean };

/** How a command unpacks an image that must be unpacked: in `spool`, or in the folder for temporary files. */
export function unpackingOf({ image, spool, quiet = false }: DiskArguments): Unpacking {
  const folder = spool ?? spoolFolder();
  const report = new UnpackingReport(shownInput(image), folder, quiet, process.stderr.isTTY);
  return { folder, report, isNeeded: spool !== undefined, isForAll: false, check: async () => {} };
}

/** Opens the disk that the command names, runs `work` with it, and closes it. It is unpacked first if it must be. */
export async function withDisk<T>(
  command: DiskArguments,
  context: RunContext,
  work: (image: AnyImage) => Promise<T>,
): Promise<T> {
  const { image, opening } = command;
  const unpacking = unpackingOf(command);
  const open = await context.opener(image, opening, unpacking);
  return orUnpacked(unpacking, async () => {
    const opened = imageOf(await open(opening.disk));
    try {
      return await work(opened);
    } finally {
      await opened.close();
    }
  });
}
