// Runs a command. An error is one line on stderr.

import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { DecantError, toDecantError } from '../errors/errors.js';
import { fileReason } from '../errors/file-error.js';
import { isHttp } from '../http/address.js';
import { type AnyImage, type Image, type Output, prepare } from '../node.js';
import { spoolFolder } from '../targets/node/spool-file.js';
import { type Command, type ImageCommand, parse, USAGE } from './arguments.js';
import { type ConvertCommand, outputOf, printOptions, requirePossible } from './command-output.js';
import { convertAll, requireFolderForAll } from './convert-all.js';
import { convert, isEncrypted, reportNotEncrypted } from './convert-command.js';
import { ALL_DISKS, failureRows, failureText, severalDisks } from './failure-text.js';
import { disksJson, disksText, infoJson, infoText, packedJson, packedText } from './info-report.js';
import { interrupted } from './interrupts.js';
import { map } from './map-command.js';
import { imageOpener, type OpenDisk } from './open-image.js';
import { requireText, shownInput } from './operands.js';
import { isFolder, requireFileForOne, requireOtherFiles, requireOutput } from './output-checks.js';
import { print, report } from './printing.js';
import { WaitingLines } from './progress.js';
import { STANDARD_OUTPUT } from './standard-streams.js';
import { folderFor, needsSpool, type Unpacking, UnpackingReport } from './unpacking.js';

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
    for (const row of failureRows(error)) report(row);
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
  const workers = command.name === 'convert' ? command.workers : undefined;
  startWorkers(command, workers);
  if (command.name === 'convert') await requireOutput(command);
  const waiting = new WaitingLines();
  waiting.isSilenced = command.name === 'convert' && command.quiet;
  let made: Promise<Output> | undefined;
  const output: OutputMaker = (command) => {
    made ??= outputOf(command, signal);
    return made;
  };
  const unpacking = await unpackingOf(command, output, signal);
  const context = { workers, onWaiting: waiting.report, unpacking, signal };
  const open = await imageOpener(command.image, command.opening, context);
  try {
    return await runOn(command, open, output, unpacking, waiting, signal);
  } catch (thrown) {
    if (!unpacking || unpacking.isNeeded || !needsSpool(thrown)) throw thrown;
    // The conversion was begun in place.
    unpacking.isNeeded = true;
    return await runOn(command, open, output, unpacking, waiting, signal);
  }
}

/** Starts the workers that the command needs, while files are opened. Ignores errors: opening the image reports them. */
function startWorkers({ name, image }: ImageCommand, workers: number | undefined): void {
  const size = name === 'convert' ? sizeOf(image) : 0;
  prepare({ size, ...(workers !== undefined && { workers }) }).catch(() => {});
}

/** The size of a file in bytes; infinite if it is unknown, as that of a URL. */
function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Makes the output of the command, once. */
type OutputMaker = (command: ConvertCommand) => Promise<Output>;

async function runOn(
  command: ImageCommand,
  open: OpenDisk,
  output: OutputMaker,
  unpacking: Unpacking | undefined,
  waiting: WaitingLines,
  signal: AbortSignal,
): Promise<number> {
  const { disk } = command.opening;
  const intoFolder = command.name === 'convert' && (await isFolder(command.output));
  if (command.name === 'convert') requireFolderForAll(command, intoFolder);
  let image: AnyImage;
  try {
    const isAll = disk === ALL_DISKS;
    image = await open(isAll ? undefined : disk);
    const isFirstOnly = image.streamed && image.members.length === 1;
    if (isAll && (isFirstOnly || image.members.length === 0)) {
      // An archive that is read in order lists its first disk only, until one is chosen. Without disks, the choice fails.
      await image.close();
      image = await open(1);
    }
  } catch (thrown) {
    if (command.name === 'info' && needsSpool(thrown)) {
      await printInfo(command.json ? packedJson : packedText, thrown.fields, command.image);
      return 0;
    }
    const several = severalDisks(thrown);
    if (!several) throw thrown;
    if (command.name === 'info') {
      await printInfo(command.json ? disksJson : disksText, several, command.image);
      return 0;
    }
    if (command.name !== 'convert' || !intoFolder || several.disks.some(({ missing }) => missing)) throw thrown;
    if (unpacking) unpacking.isForAll = true;
    return (await convertAll(several.disks, open, command, waiting, signal)) ? 0 : EXIT_DAMAGED;
  }
  try {
    switch (command.name) {
      case 'info':
        // Verifies the given passwords.
        if (!image.streamed && command.opening.passwordFiles.length > 0) await image.unlock({ signal });
        await printInfo(command.json ? infoJson : infoText, image.info, command.image);
        return 0;
      case 'map':
        // A streamed image has no map: its method fails with the reason.
        return (await map(image as Image, command, signal)) ? 0 : EXIT_DAMAGED;
      case 'convert': {
        if (disk === ALL_DISKS)
          return (await convertAll(image.members, open, command, waiting, signal)) ? 0 : EXIT_DAMAGED;
        const isWhole = await convert(image, command, await output(command), waiting, signal);
        if (!isEncrypted(image)) reportNotEncrypted(command);
        return isWhole ? 0 : EXIT_DAMAGED;
      }
    }
  } finally {
    await image.close();
  }
}

/**
 * How the image is unpacked; undefined for `info`, which describes a packed file without that. `output` makes the output of a
 * conversion.
 */
async function unpackingOf(
  command: ImageCommand,
  output: OutputMaker,
  signal: AbortSignal,
): Promise<Unpacking | undefined> {
  const { name, image } = command;
  if (name === 'info') return undefined;
  const shows = process.stderr.isTTY;
  const isForced = command.spool !== undefined;
  if (name === 'map') {
    const folder = command.spool ?? spoolFolder();
    const report = new UnpackingReport(shownInput(image), folder, false, shows);
    return { folder, report, isNeeded: isForced, isForAll: false, check: async () => {} };
  }
  const folder = command.spool ?? (await folderFor(command.output));
  const report = new UnpackingReport(shownInput(image), folder, command.quiet, command.progress || shows);
  const check = async (read: string[], format: unknown) => {
    await requireOtherFiles(command.output, read);
    if (!unpacking.isForAll) await requireFileForOne(command, format);
    await requirePossible(command, await output(command), signal);
  };
  // A conversion in place may fail halfway and start over, but data that was sent cannot be taken back.
  const isSent = command.output === STANDARD_OUTPUT || isHttp(command.output);
  const unpacking: Unpacking = { folder, report, isNeeded: isForced || isSent, isForAll: false, check };
  return unpacking;
}

async function printInfo<T>(reportOn: (subject: T, path: string) => Promise<string[]>, subject: T, path: string) {
  for (const line of await reportOn(subject, shownInput(path))) print(line);
}
