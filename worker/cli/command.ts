// Runs a command. An error is one line on stderr.

import { readFile } from 'node:fs/promises';
import { DecantError, toDecantError } from '../errors/errors.js';
import { fileReason } from '../errors/file-error.js';
import { isHttp } from '../http/http-url.js';
import { type Image, prepare } from '../node.js';
import { type Command, parse, USAGE } from './arguments.js';
import { convert } from './convert-command.js';
import { failureText } from './failure-text.js';
import { printOptions } from './format-help.js';
import { infoJson, infoText } from './info-report.js';
import { interrupted } from './interrupts.js';
import { map } from './map-command.js';
import { namedFile } from './named-file.js';
import { openImage } from './open-image.js';
import { requireOtherFiles } from './other-files.js';
import { passwordFile } from './password-input.js';
import { print, report } from './printing.js';
import { shownInput } from './remote-inputs.js';
import { STANDARD_INPUT } from './standard-input.js';
import { requireFile, requireNoTerminal, STANDARD_OUTPUT } from './standard-output.js';
import { requireText } from './utf8-arguments.js';
import { WaitingLines } from './waiting-lines.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** The output is complete, but ranges of the disk were lost. */
const EXIT_DAMAGED = 3;
/** A shell's code for a program ended by SIGINT. */
const EXIT_INTERRUPTED = 130;

/** Runs the command in `argv`. Returns the exit code. */
export async function main(argv: string[]): Promise<number> {
  const signal = interrupted();
  // Ignored: a closed terminal must not interrupt the clean-up.
  process.stderr.on('error', () => {});
  try {
    requireFolder();
    await requireText(argv);
    return await run(parse(argv), signal);
  } catch (thrown) {
    const error = toDecantError(thrown);
    const { kind } = error;
    report(failureText(error));
    if (kind === 'cancelled') return EXIT_INTERRUPTED;
    return kind === 'usage' ? EXIT_USAGE : EXIT_FAILED;
  }
}

/** Fails with `source` if the current folder was removed: threads do not start then, even if all paths are absolute. */
function requireFolder(): void {
  try {
    process.cwd();
  } catch (cause) {
    throw new DecantError('source', 'The current folder no longer exists; change to another folder', { cause });
  }
}

/** Ends the process when standard output fails; with success if its reader, such as `head`, closed it. */
function watchPrinting(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    report(`Could not write to standard output: ${fileReason(error)}`);
    process.exit(EXIT_FAILED);
  });
}

/** Fails with `usage` if the output is a terminal, an input file, or a pipe by name. */
async function requireOutput({
  image,
  opening,
  output,
  uploadHeaderFile,
}: Extract<Command, { name: 'convert' }>): Promise<void> {
  const passwords = opening.passwordFiles.map((argument) => passwordFile(argument).file);
  const headers = [opening.headerFile, uploadHeaderFile].filter((file) => file !== undefined);
  const secrets = [...passwords, ...headers];
  if (isHttp(output)) return;
  if (output === STANDARD_OUTPUT) {
    requireNoTerminal();
    const companions = opening.companions.map((argument) => namedFile(argument).file);
    await requireOtherFiles(output, [image, ...companions, ...secrets]);
  } else {
    await requireFile(output);
    // The package checks images with a path.
    await requireOtherFiles(output, [...(image === STANDARD_INPUT ? [image] : []), ...secrets]);
  }
}

async function run(command: Command, signal: AbortSignal): Promise<number> {
  // A conversion may write its output to standard output, and prints nothing there.
  if (command.name !== 'convert') watchPrinting();
  switch (command.name) {
    case 'help':
      for (const line of USAGE.split('\n')) print(line);
      return 0;
    case 'version':
      print(JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')).version);
      return 0;
    case 'options':
      await printOptions(command.format, signal);
      return 0;
  }
  if (command.name === 'convert') await requireOutput(command);
  // Starts workers while the image is opened. Ignores errors: the conversion reports them.
  const workers = command.name === 'convert' ? command.workers : undefined;
  if (command.name === 'convert') prepare(workers === undefined ? {} : { workers }).catch(() => {});
  const waiting = new WaitingLines();
  waiting.isSilenced = command.name === 'convert' && command.quiet;
  const image = await openImage(command.image, command.opening, { workers, onWaiting: waiting.report, signal });
  try {
    switch (command.name) {
      case 'info':
        // Verifies the given passwords.
        if (!image.streamed && command.opening.passwordFiles.length > 0) await image.unlock({ signal });
        for (const line of await (command.json ? infoJson : infoText)(image.info, shownInput(command.image)))
          print(line);
        return 0;
      case 'map':
        // A streamed image has no map: its method fails with the reason.
        return (await map(image as Image, command, signal)) ? 0 : EXIT_DAMAGED;
      case 'convert':
        return (await convert(image, command, waiting, signal)) ? 0 : EXIT_DAMAGED;
    }
  } finally {
    await image.close();
  }
}
