// `decant map`.

import type { DiskImage } from '../node.js';
import type { CommonImage } from '../public/types.js';
import type { CommandOf } from './arguments.js';
import { EXIT_DAMAGED } from './commands.js';
import { mapJson, mapText } from './map-text.js';
import { MAX_LISTED, print, reportLost, reportUnlisted } from './printing.js';
import { type RunContext, withDisk } from './run-context.js';

/** Prints the map of the disk that the command names. Returns the exit code. */
export const mapDisk = (command: CommandOf<'map'>, context: RunContext): Promise<number> =>
  // A streamed image has no map: its method fails with the reason.
  withDisk(command, context, async (image) =>
    (await map(image as DiskImage, command, context.signal)) ? 0 : EXIT_DAMAGED,
  );

/** Prints the map. Returns whether the whole disk can be read. */
export async function map(
  image: Pick<CommonImage, 'map'>,
  { json }: { json: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  let lost = 0;
  const extents = async function* () {
    for await (const extent of image.map({ signal })) {
      if (extent.message !== undefined) {
        lost += 1;
        if (lost <= MAX_LISTED) reportLost(extent);
      }
      yield extent;
    }
  };
  for await (const line of (json ? mapJson : mapText)(extents())) {
    print(line);
  }
  reportUnlisted(Math.max(0, lost - MAX_LISTED));
  return lost === 0;
}
