// Runs a command and tells how it went: one line on stderr where it failed.

import { readFile } from 'node:fs/promises';
import { toDecantError } from '../errors.js';
import { prepare } from '../node.js';
import { type Command, parse, USAGE } from './arguments.js';
import { convert } from './convert.js';
import { infoJson, infoText } from './info.js';
import { map } from './map.js';
import { openImage } from './open.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** Salvaged: the output is there, but not all of the disk could be read. */
const EXIT_DAMAGED = 3;
/** As a shell reports a program that SIGINT has ended. */
const EXIT_INTERRUPTED = 130;

const print = (text: string) => process.stdout.write(`${text}\n`);

/** Runs the command that `argv` asks for; answers with the exit code. */
export async function main(argv: string[]): Promise<number> {
  // A reader that has seen enough, as `head`, is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : EXIT_FAILED));
  const interrupt = new AbortController();
  // As often as it comes: an impatient second one must not break off the cleaning up.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupt.abort());
  // A terminal that is gone is no reason to leave a half-made file.
  process.stderr.on('error', () => {});
  try {
    return await run(parse(argv), interrupt.signal);
  } catch (thrown) {
    const { kind, message } = toDecantError(thrown);
    process.stderr.write(`decant: ${kind === 'cancelled' ? 'interrupted' : message.replaceAll('\n', ' ')}\n`);
    if (kind === 'cancelled') return EXIT_INTERRUPTED;
    return kind === 'usage' ? EXIT_USAGE : EXIT_FAILED;
  }
}

async function run(command: Command, signal: AbortSignal): Promise<number> {
  switch (command.name) {
    case 'help':
      print(USAGE);
      return 0;
    case 'version':
      print(JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')).version);
      return 0;
  }
  // Its workers start while the image is opened; what is wrong is told by the conversion.
  if (command.name === 'convert')
    prepare(command.workers === undefined ? {} : { workers: command.workers }).catch(() => {});
  const image = await openImage(command.image, command.opening, signal);
  try {
    switch (command.name) {
      case 'info':
        // A password that was given is tried.
        if (command.opening.passwordFile !== undefined) await image.unlock({ signal });
        print(await (command.json ? infoJson : infoText)(image.info, command.image));
        return 0;
      case 'map':
        return (await map(image, command, signal)) ? 0 : EXIT_DAMAGED;
      case 'convert':
        return (await convert(image, command, signal)) ? 0 : EXIT_DAMAGED;
    }
  } finally {
    await image.close();
  }
}
