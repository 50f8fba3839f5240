// `decant compare`, with the output of `qemu-img compare` in QEMU 7.2, and the number of bytes that differ.

import { shownText } from '../errors/shown.js';
import type { AnyImage, CompareOptions, CompareResult, DiskRange, Progress } from '../node.js';
import { openPath } from '../sources/node/node-file.js';
import { spoolFolder } from '../targets/node/spool-file.js';
import type { CommandOf } from './arguments.js';
import { EXIT_DAMAGED } from './commands.js';
import { filesOf, statsOf } from './operands.js';
import { print, report, reportLostRanges } from './printing.js';
import { progressLine } from './progress.js';
import { type RunContext, withDisk } from './run-context.js';

type CompareCommand = CommandOf<'compare'>;

const EXIT_DIFFERS = 1;
/** The unit of the offset that `qemu-img compare` prints, in bytes. */
const SECTOR = 512;

const OTHER_SIZE = 'Strict mode: Image size mismatch!';

/** Compares the disks of two images. Returns the exit code. */
export async function compareDisks(command: CompareCommand, context: RunContext): Promise<number> {
  await holdFiles(command);
  return withDisk(command, context, (one) =>
    withDisk({ ...command.other, spool: command.spool, quiet: command.quiet }, context, (two) =>
      command.json ? printJson(command, one, two, context) : printText(command, one, two, context),
    ),
  );
}

/** Opens the files of both images, so that none is removed as a leftover before its image is opened: while the other one is unpacked. */
async function holdFiles({ image, opening, other }: CompareCommand): Promise<void> {
  const files = [image, other.image, ...filesOf(opening.companions)];
  // Opening the image reports why a file cannot be read.
  for (const path of files) if ((await statsOf(path))?.isFile()) await openPath(path).catch(() => {});
}

/** Compares the disks, and shows the progress. The disks of images that come in order are stored in temporary files first. */
async function compared(
  { spool = spoolFolder(), strict, quiet, progress }: CompareCommand,
  [one, two]: readonly [AnyImage, AnyImage],
  options: CompareOptions,
): Promise<CompareResult> {
  for (const { streamed, info } of quiet ? [] : [one, two]) {
    const name = `'${shownText(info.name ?? 'the disk')}'`;
    if (streamed) report(`note: storing the disk of ${name} in a temporary file in '${shownText(spool)}'`);
  }
  const line = progressLine({ progress, quiet }, 'storing ');
  const onProgress = (progress: Progress) => {
    if (progress.phase === 'comparing') line.share(progress);
    else line.show(progress);
    options.onProgress?.(progress);
  };
  return one.compare(two, { ...options, strict, spool, onProgress }).finally(() => line.end());
}

/** Reports the notices and the lost ranges. Returns the exit code. */
function settled({ same, notices, lost, lostRanges }: CompareResult, quiet: boolean): number {
  if (!quiet) {
    for (const { message } of notices) report(`note: ${message}`);
    reportLostRanges(lost, lostRanges);
  }
  if (!same) return EXIT_DIFFERS;
  return lostRanges > 0 ? EXIT_DAMAGED : 0;
}

async function printText(
  command: CompareCommand,
  one: AnyImage,
  two: AnyImage,
  { signal }: RunContext,
): Promise<number> {
  const { strict, quiet } = command;
  const say = (line: string) => {
    if (!quiet) print(line);
  };
  let sizes = sizesOf(one, two);
  const haveOneSize = () => !sizes || sizes[0] === sizes[1];
  if (strict && !haveOneSize()) {
    say(OTHER_SIZE);
    return EXIT_DIFFERS;
  }
  let isWarned = false;
  const warn = () => {
    if (!isWarned && !haveOneSize()) say('Warning: Image size mismatch!');
    isWarned = true;
  };
  let isShown = false;
  const mismatch = (offset: number, sizes: Sizes) => {
    if (isShown) return;
    isShown = true;
    if (offset >= Math.min(...sizes)) warn();
    say(`Content mismatch at offset ${Math.floor(offset / SECTOR) * SECTOR}!`);
  };
  const result = await compared(command, [one, two], {
    firstOnly: quiet,
    signal,
    onProgress: ({ firstDifference: offset }) => {
      // In strict mode, an earlier difference of allocation may still be found.
      if (offset !== undefined && sizes && !strict) mismatch(offset, sizes);
    },
  });
  const {
    virtualSizes,
    firstDifference: offset,
    differentBytes,
    differentRanges,
    firstAllocationDifference,
    same,
    lostRanges,
  } = result;
  sizes = virtualSizes;
  if (strict && !haveOneSize()) {
    say(OTHER_SIZE);
    return settled(result, quiet);
  }
  if (firstAllocationDifference !== undefined && !(offset! < firstAllocationDifference))
    say(`Strict mode: Offset ${firstAllocationDifference} block status mismatch!`);
  else if (offset !== undefined) mismatch(offset, sizes);
  if (offset !== undefined) say(countText(offset, differentBytes, differentRanges));
  if (same) {
    warn();
    say(lostRanges > 0 ? 'No difference was found in what can be read.' : 'Images are identical.');
  }
  return settled(result, quiet);
}

type Sizes = CompareResult['virtualSizes'];

/** The sizes of the disks; undefined if that of a streamed one is not known yet. */
function sizesOf({ info: one }: AnyImage, { info: two }: AnyImage): Sizes | undefined {
  if (one.virtualSize === undefined || two.virtualSize === undefined) return undefined;
  return [one.virtualSize, two.virtualSize];
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const countText = (offset: number, bytes: number, ranges: number): string =>
  `${counted(bytes, 'byte')} in ${counted(ranges, 'range')} ${ranges === 1 && bytes === 1 ? 'differs' : 'differ'}; the first is at offset ${offset}`;

/** Prints an object. With `--all`, each range is printed when it is found, on a line. */
async function printJson(
  command: CompareCommand,
  one: AnyImage,
  two: AnyImage,
  { signal }: RunContext,
): Promise<number> {
  const { quiet, all } = command;
  const say = (line: string) => {
    if (!quiet) print(line);
  };
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
  const result = await compared(command, [one, two], { signal, ...(all && { onRanges: list }) });
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
  } = result;
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
  return settled(result, quiet);
}
