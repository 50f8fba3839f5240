// Runs a command of the command line. Reports its error on standard error, and returns the exit code.

import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { DecantError, type Member, toDecantError } from '../errors/errors.js';
import { fileReason } from '../errors/file-error.js';
import { isHttp } from '../http/address.js';
import { type Image, type Output, prepare } from '../node.js';
import { spoolFolder } from '../targets/node/spool-file.js';
import { type Command, type ImageCommand, parse, USAGE } from './arguments.js';
import { ALL_DISKS } from './command-options.js';
import { type ConvertCommand, outputOf, printOptions, requirePossible } from './command-output.js';
import { convertAll, convertMachine, requireFolderForAll } from './convert-all.js';
import { convert, isEncrypted, reportNextStep, reportNotEncrypted } from './convert-command.js';
import { failureRows, failureText } from './failure-text.js';
import { takesSeveral } from './formats.js';
import { disksJson, disksText, infoJson, infoText, packedJson, packedText } from './info-report.js';
import { interrupted } from './interrupts.js';
import { map } from './map-command.js';
import { imageOf, imageOpener, mustBeUnpacked, type OpenDisk, type Opened, partsBeside } from './open-image.js';
import { requireText, shownInput } from './operands.js';
import { isFolder, requireFileForOne, requireOtherFiles, requireOutput } from './output-checks.js';
import { print, report } from './printing.js';
import { WaitingLines } from './progress.js';
import { STANDARD_OUTPUT } from './standard-streams.js';
import { folderFor, type Unpacking, UnpackingReport } from './unpacking.js';

type InfoCommand = Extract<Command, { name: 'info' }>;
type MapCommand = Extract<Command, { name: 'map' }>;

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** The output is complete, but ranges of the disk were lost. */
const EXIT_DAMAGED = 3;
/** A shell's code for a program ended by SIGINT. */
const EXIT_INTERRUPTED = 130;

/** Runs the command in `argv`. Returns the exit code. */
export async function main(argv: string[]): Promise<number> {
  const signal = interrupted();
  // Ignores errors of standard error: a closed terminal must not interrupt the clean-up.
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
  // Not for a conversion, which prints nothing to standard output, but may write its output there.
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
  const opener = (unpacking?: Unpacking) =>
    imageOpener(command.image, command.opening, { workers, onWaiting: waiting.report, unpacking, signal });
  switch (command.name) {
    case 'info':
      for (const line of await info(command, await opener(), signal)) print(line);
      return 0;
    case 'map': {
      const unpacking = unpackingForMap(command);
      const open = await opener(unpacking);
      return orUnpacked(unpacking, () => mapOf(command, open, signal));
    }
    case 'convert': {
      let made: Promise<Output> | undefined;
      const output: OutputMaker = (command) => {
        made ??= outputOf(command, signal);
        return made;
      };
      const unpacking = await unpackingForConversion(command, output, signal);
      const context = { open: await opener(unpacking), output, unpacking, waiting, signal };
      return orUnpacked(unpacking, () => conversion(command, context));
    }
  }
}

/** Runs `work`. If it fails because the image cannot be read in place, unpacks the image and runs it again. */
async function orUnpacked(unpacking: Unpacking, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (thrown) {
    if (unpacking.isNeeded || !mustBeUnpacked(thrown)) throw thrown;
    unpacking.isNeeded = true;
    return work();
  }
}

/** Starts the workers that the command needs, while files are opened. Ignores errors: opening the image reports them. */
function startWorkers({ name, image }: ImageCommand, workers: number | undefined): void {
  const size = name === 'convert' ? sizeOf(image) : 0;
  prepare({ size, ...(workers !== undefined && { workers }) }).catch(() => {});
}

/** The size of a file in bytes; infinite if it is unknown: for a URL, for instance. */
function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Makes the output of the command at the first call. Later calls return the same output. */
type OutputMaker = (command: ConvertCommand) => Promise<Output>;

/** Returns the lines of `decant info`. */
async function info(
  { image: path, json, opening }: InfoCommand,
  open: OpenDisk,
  signal: AbortSignal,
): Promise<string[]> {
  const opened = await open(opening.disk);
  const [shown, parts] = [shownInput(path), await partsBeside(path, [])];
  if ('packed' in opened) return (json ? packedJson : packedText)(opened.packed, shown, parts);
  if ('choice' in opened) return (json ? disksJson : disksText)(opened.choice, shown, parts);
  const { image } = opened;
  try {
    // Verifies the given passwords.
    if (!image.streamed && opening.passwordFiles.length > 0) await image.unlock({ signal });
    return await (json ? infoJson : infoText)(image.info, shown, parts);
  } finally {
    await image.close();
  }
}

async function mapOf(command: MapCommand, open: OpenDisk, signal: AbortSignal): Promise<number> {
  const image = imageOf(await open(command.opening.disk));
  try {
    // A streamed image has no map: its method fails with the reason.
    return (await map(image as Image, command, signal)) ? 0 : EXIT_DAMAGED;
  } finally {
    await image.close();
  }
}

/** What a conversion uses besides its arguments. */
interface ConversionContext {
  open: OpenDisk;
  output: OutputMaker;
  unpacking: Unpacking;
  waiting: WaitingLines;
  signal: AbortSignal;
}

async function conversion(
  command: ConvertCommand,
  { open, output, unpacking, waiting, signal }: ConversionContext,
): Promise<number> {
  const intoFolder = await isFolder(command.output);
  requireFolderForAll(command, intoFolder);
  const isAll = command.opening.disk === ALL_DISKS;
  const opened = isAll ? await openAll(open) : await open(command.opening.disk);
  const exitCode = (isWhole: boolean) => (isWhole ? 0 : EXIT_DAMAGED);
  const intoMachine = !intoFolder && takesSeveral(command.format);
  const convertEach = async (disks: readonly Member[]) =>
    exitCode(
      intoMachine
        ? await convertMachine(disks, open, command, await output(command), waiting, signal)
        : await convertAll(disks, open, command, waiting, signal),
    );
  if ('choice' in opened && !opened.choice.disks.some(({ missing }) => missing)) {
    // The images of an archive are those of one machine only if the archive says so.
    const isOfMachine = intoMachine && (isAll || opened.choice.machine !== undefined);
    unpacking.isForAll = intoFolder;
    if (intoFolder || isOfMachine) return await convertEach(opened.choice.disks);
  }
  const image = imageOf(opened);
  try {
    if (isAll) return await convertEach(image.members);
    const { isWhole, made } = await convert([image], command, await output(command), waiting, signal);
    if (command.place !== undefined && made) reportNextStep(command.place, [made]);
    if (!isEncrypted(image)) reportNotEncrypted(command);
    return exitCode(isWhole);
  } finally {
    await image.close();
  }
}

/** Opens the image so that it lists all its disks. Fails if it has no list of disks. */
async function openAll(open: OpenDisk): Promise<Opened> {
  const opened = await open(undefined);
  if (!('image' in opened)) return opened;
  const { image } = opened;
  const isFirstOnly = image.streamed && image.members.length === 1;
  if (!isFirstOnly && image.members.length > 0) return opened;
  // Once disk 1 is chosen, an archive that is read in order lists all disks, and an image without a list of disks fails.
  await image.close();
  return open(1);
}

/** How a map unpacks the image. */
function unpackingForMap({ image, spool }: MapCommand): Unpacking {
  const folder = spool ?? spoolFolder();
  const report = new UnpackingReport(shownInput(image), folder, false, process.stderr.isTTY);
  return { folder, report, isNeeded: spool !== undefined, isForAll: false, check: async () => {} };
}

/** How a conversion unpacks the image. `output` makes its output. */
async function unpackingForConversion(
  command: ConvertCommand,
  output: OutputMaker,
  signal: AbortSignal,
): Promise<Unpacking> {
  const { image, spool, quiet, progress } = command;
  const folder = spool ?? (await folderFor(command.output));
  const report = new UnpackingReport(shownInput(image), folder, quiet, progress || process.stderr.isTTY);
  const check = async (read: string[], format: unknown) => {
    await requireOtherFiles(command.output, read);
    if (!unpacking.isForAll) await requireFileForOne(command, format);
    await requirePossible(command, await output(command), signal);
  };
  // Unpacks first if the output is sent: a conversion in place may fail halfway and start over, but sent data cannot be taken back.
  const isSent = command.output === STANDARD_OUTPUT || isHttp(command.output);
  const unpacking: Unpacking = { folder, report, isNeeded: spool !== undefined || isSent, isForAll: false, check };
  return unpacking;
}
