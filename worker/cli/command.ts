// Runs a command of the command line. Reports its error on standard error, and returns the exit code.

import { statSync } from 'node:fs';
import { DecantError, toDecantError } from '../errors/errors.js';
import { fileReason } from '../errors/file-error.js';
import { isHttp } from '../http/address.js';
import { prepare } from '../node.js';
import { type Command, type CommandOf, type ImageCommand, parse } from './arguments.js';
import { packageVersion } from './bug-report.js';
import { checkImage } from './check-command.js';
import { WrongArguments } from './command-options.js';
import { printOptions } from './command-output.js';
import { type CommandName, commandEntry, EXIT_USAGE, isTopic } from './commands.js';
import { compareDisks } from './compare-command.js';
import { completionsOf } from './completions/index.js';
import { conversion } from './conversion.js';
import { digest } from './digest-command.js';
import { failureRows, failureText } from './failure-text.js';
import { generalHelp, helpOf } from './help.js';
import { info } from './info-command.js';
import { cleanUpDone, type Interruption, interrupts } from './interrupts.js';
import { mapDisk } from './map-command.js';
import { measureOutput } from './measure-command.js';
import { requireText } from './operands.js';
import { flushed, print, report, reportHelp } from './printing.js';
import { reportProgress } from './progress.js';
import { RunContext } from './run-context.js';
import { STANDARD_OUTPUT } from './standard-streams.js';

/** The exit code of a failure before the command is known. */
const EXIT_FAILED = 1;

/** Runs the command in `argv`. Returns the exit code. */
export async function main(argv: string[]): Promise<number> {
  const interruption = interrupts();
  process.on('SIGUSR1', reportProgress);
  // Ignores errors of standard error: a closed terminal must not interrupt the clean-up.
  process.stderr.on('error', () => {});
  try {
    requireFolder();
    await requireText(argv);
    const [name, ...args] = argv;
    if (name === undefined) {
      generalHelp().forEach(reportHelp);
      return EXIT_USAGE;
    }
    return await run(parse([name, ...args]), interruption.signal);
  } catch (thrown) {
    const error = toDecantError(thrown);
    report(failureText(error) + helpHint(thrown, argv[0] ?? ''));
    for (const row of failureRows(error)) report(row);
    return exitCodeOf(error, argv[0] ?? '', interruption);
  }
}

/** Resolves when all clean-up is done, and all output is written. */
export async function finished(): Promise<void> {
  await cleanUpDone();
  await flushed();
}

/** Where the help of the command `name` is, after wrong arguments. */
const helpHint = (thrown: unknown, name: string): string =>
  thrown instanceof WrongArguments ? `; see decant ${isTopic(name) ? `${name} ` : ''}--help` : '';

/** The exit code after `error`, of the command called `name`. */
function exitCodeOf({ kind }: DecantError, name: string, interruption: Interruption): number {
  if (kind === 'cancelled') return interruption.exitCode();
  if (!isTopic(name)) return kind === 'usage' ? EXIT_USAGE : EXIT_FAILED;
  const { failed, wrongUsage } = commandEntry(name);
  return kind === 'usage' ? wrongUsage : failed;
}

/** Fails with `source` if the current folder was removed: threads do not start then, even if all paths are absolute. */
function requireFolder(): void {
  try {
    process.cwd();
  } catch (cause) {
    throw new DecantError('source', 'The current folder no longer exists; change to another folder', { cause });
  }
}

/**
 * Ends the process when standard output fails: with `failed`, or with `unread` if its reader, such as `head`, has ended. Without `unread`,
 * the command goes on then.
 */
function watchPrinting({ failed, unread }: { failed: number; unread: number | undefined }): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return unread === undefined ? undefined : process.exit(unread);
    report(`Could not write to standard output: ${fileReason(error)}`);
    process.exit(failed);
  });
}

/** How each command runs. Each function returns the exit code. */
const RUNS: { [Name in CommandName]: (command: CommandOf<Name>, context: RunContext) => Promise<number> } = {
  info,
  map: mapDisk,
  compare: compareDisks,
  measure: measureOutput,
  digest,
  check: checkImage,
  convert: conversion,
};

async function run(command: Command, signal: AbortSignal): Promise<number> {
  // Not for a conversion, which may write its output there, unless it prints a digest.
  if (command.name !== 'convert' || (command.digest && command.output !== STANDARD_OUTPUT))
    watchPrinting(isTopic(command.name) ? commandEntry(command.name) : { failed: EXIT_FAILED, unread: 0 });
  switch (command.name) {
    case 'help':
      (command.topic === undefined ? generalHelp() : helpOf(command.topic)).forEach(print);
      return 0;
    case 'completions':
      completionsOf(command.shell).forEach(print);
      return 0;
    case 'version':
      print(await packageVersion());
      return 0;
    case 'options':
      await printOptions(command.format, signal);
      return 0;
  }
  const workers = 'workers' in command ? command.workers : undefined;
  startWorkers(command, workers);
  return runImageCommand(command, new RunContext(workers, signal));
}

const runImageCommand = <Name extends CommandName>(
  command: CommandOf<Name> & { name: Name },
  context: RunContext,
): Promise<number> => RUNS[command.name](command, context);

/** Starts the workers that the command needs, while files are opened. Ignores errors: opening the image reports them. */
function startWorkers({ name, image }: ImageCommand, workers: number | undefined): void {
  const size = commandEntry(name).decodes ? sizeOf(image) : 0;
  const start = (size: number) => prepare({ size, ...(workers !== undefined && { workers }) });
  // A file on a server is opened first, by one worker: the others would delay its first request.
  const started = isHttp(image) ? start(0).then(() => start(size)) : start(size);
  started.catch(() => {});
}

/** The size of a file in bytes; infinite if it is unknown: for a URL, for instance. */
function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
