// `decant measure`, with the output of `qemu-img measure` in QEMU 7.2, except for bitmaps, which no output has.

import type { DiskImage, MeasureResult } from '../node.js';
import type { CommandOf } from './arguments.js';
import { print } from './printing.js';
import { type RunContext, withDisk } from './run-context.js';

/** Prints the size of the output. Returns the exit code. */
export const measureOutput = (command: CommandOf<'measure'>, context: RunContext): Promise<number> =>
  // A streamed image has no tables: its method fails with the reason.
  withDisk(command, context, async (image) => {
    const { format, formatOptions, json } = command;
    const measured = await (image as DiskImage).measure({ format, formatOptions, signal: context.signal });
    for (const line of (json ? measuredJson : measuredText)(measured)) print(line);
    return 0;
  });

const measuredText = ({ required, fullyAllocated }: MeasureResult): string[] => [
  `required size: ${required}`,
  `fully allocated size: ${fullyAllocated}`,
];

const measuredJson = ({ required, fullyAllocated }: MeasureResult): string[] =>
  JSON.stringify({ required, 'fully-allocated': fullyAllocated }, undefined, 4).split('\n');
