// `decant compare`, with the output of `qemu-img compare` in QEMU 7.2, and the number of bytes that differ.

import type { CompareResult, DiskImage, DiskRange } from '../node.js';
import type { CommandOf } from './arguments.js';
import { EXIT_DAMAGED } from './commands.js';
import { namedFile } from './operands.js';
import { MAX_LISTED, print, reportLost, reportUnlisted } from './printing.js';
import { progressLine } from './progress.js';
import { type RunContext, withDisk } from './run-context.js';
import { type StoringArguments, stored } from './stored-disk.js';

type CompareCommand = CommandOf<'compare'>;

const EXIT_DIFFERS = 1;
/** The unit of the offset that `qemu-img compare` prints, in bytes. */
const SECTOR = 512;

/** Compares the disks of two images. Returns the exit code. */
export const compareDisks = (command: CompareCommand, context: RunContext): Promise<number> =>
  withDisk(command, context, (image) =>
    withDisk({ ...command.other, spool: command.spool, quiet: command.quiet }, context, (other) =>
      stored(image, storing(command), context, (one) =>
        stored(other, storing(command), context, (two) =>
          command.json ? printJson(command, one, two, context) : printText(command, one, two, context),
        ),
      ),
    ),
  );

/** How a disk is stored. No file that the comparison reads is removed as a leftover. */
const storing = (command: CompareCommand): StoringArguments => ({
  ...command,
  read: [command, command.other].flatMap(({ image, opening }) => [
    image,
    ...opening.companions.map((argument) => namedFile(argument).file),
  ]),
});

const exitCodeOf = ({ same, lostRanges }: CompareResult): number => {
  if (!same) return EXIT_DIFFERS;
  return lostRanges > 0 ? EXIT_DAMAGED : 0;
};

/** Reports the lost ranges. Returns the exit code. */
function settled(compared: CompareResult, quiet: boolean): number {
  const { lost, lostRanges } = compared;
  if (!quiet) {
    for (const range of lost.slice(0, MAX_LISTED)) reportLost(range);
    reportUnlisted(lostRanges - Math.min(lost.length, MAX_LISTED));
  }
  return exitCodeOf(compared);
}

async function printText(
  command: CompareCommand,
  one: DiskImage,
  two: DiskImage,
  context: RunContext,
): Promise<number> {
  const { strict, quiet } = command;
  const say = (line: string) => {
    if (!quiet) print(line);
  };
  const sizes = [one.info.virtualSize, two.info.virtualSize] as const;
  const haveOneSize = sizes[0] === sizes[1];
  if (strict && !haveOneSize) {
    say('Strict mode: Image size mismatch!');
    return EXIT_DIFFERS;
  }
  let isWarned = haveOneSize;
  const warn = () => {
    if (!isWarned) say('Warning: Image size mismatch!');
    isWarned = true;
  };
  let isShown = false;
  const mismatch = (offset: number) => {
    if (isShown) return;
    isShown = true;
    if (offset >= Math.min(...sizes)) warn();
    say(`Content mismatch at offset ${Math.floor(offset / SECTOR) * SECTOR}!`);
  };
  const line = progressLine(command);
  const compared = await one
    .compare(two, {
      strict,
      firstOnly: quiet,
      signal: context.signal,
      onProgress: (progress) => {
        const { firstDifference: offset } = progress;
        line.share(progress);
        // In strict mode, an earlier difference of allocation may still be found.
        if (offset !== undefined && !strict) mismatch(offset);
      },
    })
    .finally(() => line.end());
  const {
    firstDifference: offset,
    differentBytes,
    differentRanges,
    firstAllocationDifference,
    same,
    lostRanges,
  } = compared;
  if (firstAllocationDifference !== undefined && !(offset! < firstAllocationDifference))
    say(`Strict mode: Offset ${firstAllocationDifference} block status mismatch!`);
  else if (offset !== undefined) mismatch(offset);
  if (offset !== undefined) say(countText(offset, differentBytes, differentRanges));
  if (same) {
    warn();
    say(lostRanges > 0 ? 'No difference was found in what can be read.' : 'Images are identical.');
  }
  return settled(compared, quiet);
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const countText = (offset: number, bytes: number, ranges: number): string =>
  `${counted(bytes, 'byte')} in ${counted(ranges, 'range')} ${ranges === 1 && bytes === 1 ? 'differs' : 'differ'}; the first is at offset ${offset}`;

/** Prints an object. With `--all`, each range is printed when it is found, on a line. */
async function printJson(
  command: CompareCommand,
  one: DiskImage,
  two: DiskImage,
  context: RunContext,
): Promise<number> {
  const { strict, quiet, all } = command;
  const say = (line: string) => {
    if (!quiet) print(line);
  };
  const line = progressLine(command);
  let last: string | undefined;
  const begin = () => {
    say('{');
    if (all) say('    "ranges": [');
  };
  const list = (ranges: readonly DiskRange[]) => {
    for (const { offset, length } of ranges) {
      if (last === undefined) begin();
      else say(`${last},`);
      last = `        { "offset": ${offset}, "length": ${length} }`;
    }
  };
  const compared = await one
    .compare(two, {
      ...{ strict, signal: context.signal },
      ...(all && { onRanges: list }),
      onProgress: (progress) => line.share(progress),
    })
    .finally(() => line.end());
  if (last === undefined) begin();
  else say(last);
  if (all) say('    ],');
  const {
    same,
    virtualSizes,
    firstDifference: offset,
    differentBytes,
    differentRanges,
    firstAllocationDifference,
    lostBytes,
  } = compared;
  const rest = {
    same,
    'virtual-sizes': virtualSizes,
    offset,
    'different-bytes': differentBytes,
    'different-ranges': differentRanges,
    'allocation-offset': firstAllocationDifference,
    'lost-bytes': lostBytes,
  };
  for (const row of JSON.stringify(rest, undefined, 4).split('\n').slice(1)) say(row);
  return settled(compared, quiet);
}
