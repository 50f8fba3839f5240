// Converts all disks of a machine into one output.

import type { Member } from '../errors/errors.js';
import type { AnyImage, Output } from '../node.js';
import type { ConvertCommand } from './command-output.js';
import { failureOfDisk } from './convert-all.js';
import { convert, isEncrypted, reportNextStep, reportNotEncrypted } from './convert-command.js';
import { imageOf, type OpenDisk } from './open-image.js';
import type { WaitingLines } from './progress.js';

/** Converts `disks`, which are all disks of the image, to `output`. Returns whether all of each disk could be read. */
export async function convertMachine(
  disks: readonly Member[],
  open: OpenDisk,
  command: ConvertCommand,
  output: Output,
  waiting: WaitingLines,
  signal: AbortSignal,
): Promise<boolean> {
  const images: AnyImage[] = [];
  try {
    for (const [at, { name }] of disks.entries()) {
      const image = await open(at + 1)
        .then(imageOf)
        .catch((thrown) => {
          throw failureOfDisk(thrown, name, at, disks.length);
        });
      images.push(image);
    }
    const { isWhole, made } = await convert(images, command, output, waiting, signal);
    if (command.place !== undefined && made) reportNextStep(command.place, [made]);
    if (!images.some(isEncrypted)) reportNotEncrypted(command);
    return isWhole;
  } finally {
    for (const image of images) await image.close();
  }
}
