// `decant convert`.

import type { Image } from '../node.js';
import type { Result } from '../types.js';
import type { Command } from './arguments.js';
import { lostLine } from './lost.js';
import { ProgressLine } from './progress-line.js';

/** Answers whether all of the disk could be read. */
export async function convert(
  image: Image,
  command: Extract<Command, { name: 'convert' }>,
  signal: AbortSignal,
): Promise<boolean> {
  const result = await run(image, command, signal);
  if (!command.quiet) warn(result, command.output);
  return result.lost.length === 0;
}

async function run(image: Image, command: Extract<Command, { name: 'convert' }>, signal: AbortSignal): Promise<Result> {
  const show = !command.quiet && (command.progress || process.stderr.isTTY);
  const line = show ? new ProgressLine(process.stderr) : undefined;
  try {
    const result = await image.convert(command.output, {
      signal,
      ...(command.workers === undefined ? {} : { workers: command.workers }),
      ...(line ? { onProgress: (progress) => line.show(progress) } : {}),
    });
    line?.done();
    return result;
  } finally {
    line?.end();
  }
}

function warn({ lost, unusedCompanions }: Result, output: string): void {
  for (const name of unusedCompanions) process.stderr.write(`decant: nothing refers to '${name}'\n`);
  for (const range of lost) process.stderr.write(lostLine(range));
  if (lost.length === 0) return;
  const bytes = lost.reduce((sum, { length }) => sum + length, 0);
  process.stderr.write(`decant: '${output}' is damaged: ${bytes} bytes of the disk are lost and are zeros now\n`);
}
