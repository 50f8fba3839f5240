// `decant convert`.

import type { Image } from '../node.js';
import type { Command } from './arguments.js';
import { ProgressLine } from './progress-line.js';

export async function convert(
  image: Image,
  command: Extract<Command, { name: 'convert' }>,
  signal: AbortSignal,
): Promise<void> {
  const show = !command.quiet && (command.progress || process.stderr.isTTY);
  const line = show ? new ProgressLine(process.stderr) : undefined;
  try {
    await image.convert(command.output, {
      signal,
      ...(command.workers === undefined ? {} : { workers: command.workers }),
      ...(line ? { onProgress: (progress) => line.show(progress) } : {}),
    });
    line?.done();
  } finally {
    line?.end();
  }
}
