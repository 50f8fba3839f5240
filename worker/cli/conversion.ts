// Runs `decant convert`: opens the image, finds which of its disks are converted, and makes the output.

import type { DiskMember } from '../errors/errors.js';
import { isHttp } from '../http/address.js';
import { ALL_DISKS } from './command-options.js';
import { type CommandOutput, type ConvertCommand, outputOf, requirePossible } from './command-output.js';
import { EXIT_DAMAGED } from './commands.js';
import { convertAll, convertIntoFolder, convertMachine, requireFolderForAll } from './convert-all.js';
import { convert, isEncrypted, reportNextStep, reportNotEncrypted } from './convert-command.js';
import { printDigests } from './digest-text.js';
import { isMachine, severalMachines } from './files-beside.js';
import { takesSeveral } from './formats.js';
import { imageOf, type OpenDisk, openAll } from './open-image.js';
import { shownInput } from './operands.js';
import { isFolder, requireFileForOne, requireOtherFiles, requireOutput } from './output-checks.js';
import { orUnpacked, type RunContext } from './run-context.js';
import { STANDARD_OUTPUT } from './standard-streams.js';
import { folderFor, type Unpacking, UnpackingReport } from './unpacking.js';

/** Makes the output of the command at the first call. Later calls return the same output. */
type OutputMaker = (command: ConvertCommand) => Promise<CommandOutput>;

/** Converts what the command names. Returns the exit code. */
export async function conversion(command: ConvertCommand, context: RunContext): Promise<number> {
  const { signal } = context;
  // Before the image is opened, which may take long.
  const found = await requireOutput(command);
  context.waiting.isSilenced = command.quiet;
  let made: Promise<CommandOutput> | undefined;
  const output: OutputMaker = (command) => {
    made ??= outputOf(command, found, signal);
    return made;
  };
  const unpacking = await unpackingOf(command, output, signal);
  const open = await context.opener(command.image, command.opening, unpacking);
  return orUnpacked(unpacking, () => convertDisks(command, open, output, unpacking, context));
}

async function convertDisks(
  command: ConvertCommand,
  open: OpenDisk,
  output: OutputMaker,
  unpacking: Unpacking,
  context: RunContext,
): Promise<number> {
  const intoFolder = await isFolder(command.output);
  requireFolderForAll(command, intoFolder);
  const isAll = command.opening.disk === ALL_DISKS;
  const opened = isAll ? await openAll(open) : await open(command.opening.disk);
  const exitCode = (isWhole: boolean) => (isWhole ? 0 : EXIT_DAMAGED);
  const intoMachine = !intoFolder && takesSeveral(command.format);
  const convertEach = async (disks: readonly DiskMember[]) =>
    exitCode(
      intoMachine
        ? await convertMachine(disks, open, command, await output(command), context)
        : await convertAll(disks, open, command, context, !('choice' in opened && opened.choice.machines)),
    );
  if ('choice' in opened && !opened.choice.disks.some(({ missing }) => missing)) {
    const { machines } = opened.choice;
    if (machines && intoMachine) {
      const names = machines.map(({ name }) => name);
      throw severalMachines(command.image, names, 'state a disk of one (--disk N)');
    }
    // The images of an archive are those of one machine only if the archive says so.
    const isOfMachine = opened.choice.machine !== undefined || (await isMachine(command.image));
    unpacking.isForAll = intoFolder;
    if (intoFolder && isOfMachine && takesSeveral(command.format))
      return exitCode(await convertIntoFolder(opened.choice.disks, open, command, context));
    if (intoFolder || (intoMachine && (isAll || isOfMachine))) return await convertEach(opened.choice.disks);
  }
  const image = imageOf(opened);
  try {
    if (isAll) return await convertEach(image.disks);
    const { isWhole, made, digests } = await convert([image], command, await output(command), context);
    printDigests(digests, [command.image], command.output === STANDARD_OUTPUT);
    if (command.place !== undefined && made) reportNextStep(command.place, [made]);
    if (!isEncrypted(image)) reportNotEncrypted(command);
    return exitCode(isWhole);
  } finally {
    await image.close();
  }
}

/** How a conversion unpacks the image. `output` makes its output. */
async function unpackingOf(command: ConvertCommand, output: OutputMaker, signal: AbortSignal): Promise<Unpacking> {
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
