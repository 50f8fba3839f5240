// `decant convert`.

import { open, unlink } from 'node:fs/promises';
import { fileError, fileExists } from '../errors/file-error.js';
import { shownText } from '../errors/shown.js';
import { humanSize } from '../errors/sizes.js';
import { isHttp } from '../http/address.js';
import type { AnyImage, Output } from '../node.js';
import { placeNamed, placeRefusal } from '../places/choice.js';
import { nextStep } from '../places/next-step.js';
import type { ConvertResult, DiskDigest, Verified } from '../public/types.js';
import type { MadeDisk } from '../public/types.places.js';
import { type CommandOutput, type ConvertCommand, isLocal, optionsFor } from './command-output.js';
import { reportTime } from './digest-text.js';
import { shownInput } from './operands.js';
import { report, reportLostRanges } from './printing.js';
import { progressLine } from './progress.js';
import type { RunContext } from './run-context.js';
import { STANDARD_OUTPUT } from './standard-streams.js';

/** A conversion that is complete. */
interface Converted {
  /** Whether all of each disk could be read. */
  isWhole: boolean;
  /** The digests of the disks, if they are wanted. */
  digests: readonly DiskDigest[];
  /** The result, if a command at the place is the next step. */
  made: MadeDisk | undefined;
}

/** Converts the disks of `images`, one or more, to `output`, which the command names. */
export async function convert(
  images: AnyImage[],
  command: ConvertCommand,
  output: CommandOutput,
  context: RunContext,
): Promise<Converted> {
  const result = await run(images, command, output, context);
  const isWhole = result.lostBytes === 0 && !result.notices.some(({ code }) => code === 'checksum-mismatch');
  const { digests = result.digest ? [result.digest] : [] } = result;
  if (command.quiet) return { isWhole, digests, made: undefined };
  for (const note of command.notes) report(`note: ${note}`);
  warn(result, command.output);
  if (command.place === undefined) return { isWhole, digests, made: undefined };
  const refusal = placeRefusal(placeNamed(command.place), result);
  if (refusal) report(refusal.message);
  return { isWhole, digests, made: await madeDisk(images[0]!, command, result, context) };
}

/** Whether a layer of the image is encrypted. */
export const isEncrypted = ({ info }: AnyImage): boolean =>
  info.layers.some(({ encryption }) => encryption !== undefined);

/** Reports that the passwords of `command` were not needed, after a conversion of nothing encrypted. */
export function reportNotEncrypted({ quiet, opening }: ConvertCommand): void {
  if (quiet || opening.passwordFiles.length === 0) return;
  report('note: no layer is encrypted, so --password-file is not needed');
}

async function run(
  images: AnyImage[],
  command: ConvertCommand,
  output: CommandOutput,
  { waiting, signal }: RunContext,
): Promise<ConvertResult> {
  const [image, ...disks] = images as [AnyImage, ...AnyImage[]];
  const large = images.flatMap(({ info }) => info.safety.filter(({ code }) => code === 'large-window'));
  if (!command.quiet) for (const { message } of large) report(`note: ${message}`);
  if (command.digest && !command.quiet) for (const { info } of images) reportTime(info.virtualSize);
  const line = progressLine(command);
  waiting.isSilenced ||= line.isShown;
  let isNoted = false;
  try {
    const { existing, sparse, sync, resume, verify, place } = command;
    const isFile = command.output !== STANDARD_OUTPUT && !isHttp(command.output);
    const isDense =
      sparse === false || (sparse === undefined && place !== undefined && placeNamed(place).refusesSparse);
    let isSizeNoted = command.quiet || !isFile || !isDense;
    // A file as it was found is no public value.
    const result = await image.convert(output as Output, {
      signal,
      ...optionsFor(image, command, output),
      ...(disks.length > 0 && { disks }),
      // The target of a page blob has it as its own option.
      existing: existing && isLocal(output),
      ...(sparse === undefined ? {} : { sparse }),
      ...(command.bmap !== undefined && { bmap: true }),
      sync,
      resume,
      digest: command.digest,
      ...(verify && { verify }),
      onProgress: (progress) => {
        if (image.streamed && progress.phase === 'measuring' && !isNoted) {
          isNoted = true;
          if (!command.quiet) report(`note: ${beforehand(image)}`);
        }
        if (!isSizeNoted && progress.outputSize !== undefined) {
          isSizeNoted = true;
          report(`note: the output takes ${humanSize(progress.outputSize)} on the disk, since it has no holes`);
        }
        line.show(progress);
        waiting.report(progress.waiting);
      },
    });
    line.done();
    if (result.bmap !== undefined) await writeBmap(command.bmap!, result.bmap);
    return result;
  } finally {
    line.end();
  }
}

/** Writes the bmap to the new file `path`. No file that was there is replaced, and an incomplete file is removed. */
async function writeBmap(path: string, text: string): Promise<void> {
  const failed = (thrown: unknown) => fileError(thrown, 'target', `write '${path}', although the disk is complete`);
  const file = await open(path, 'wx').catch((thrown: NodeJS.ErrnoException) => {
    throw thrown.code === 'EEXIST' ? fileExists(path) : failed(thrown);
  });
  try {
    await file.writeFile(text);
    await file.close();
  } catch (thrown) {
    // The first failure is reported.
    await file.close().catch(() => {});
    await unlink(path).catch(() => {});
    throw failed(thrown);
  }
}

/** Says that a pass over a streamed disk comes first, since the output states the size at its start. */
const beforehand = ({ info }: AnyImage): string =>
  info.fileSize === undefined
    ? 'the size of the disk is needed first, so the disk is stored in a temporary file'
    : 'the size of the disk is needed first, so the file is decoded twice';

function warn(
  { notices, rewritten, lost, lostRanges, lostBytes, unusedCompanions, verified }: ConvertResult,
  output: string,
): void {
  for (const { message } of notices) report(`note: ${message}`);
  if (rewritten.length > 0) {
    const ranges = rewritten.map(({ offset, length }) => `${offset}-${offset + length - 1}`);
    report(`note: the backup GPT was moved to the end of the disk; rewritten bytes of the disk: ${ranges.join(', ')}`);
  }
  for (const name of unusedCompanions) report(`note: no layer refers to '${shownText(name)}'`);
  reportLostRanges(lost, lostRanges);
  if (verified) report(`note: ${verifiedText(verified)}`);
  if (lostBytes === 0) return;
  const name = output === STANDARD_OUTPUT ? 'standard output' : `'${shownText(shownInput(output))}'`;
  report(`${name} is damaged: ${lostBytes} bytes of the disk were lost or may be wrong`);
}

/** Says how the output was verified. */
const verifiedText = ({ guestBytes, method }: Verified): string =>
  method === 'checksums'
    ? `the destination has stored all bytes as they were sent, by its checksums (a disk of ${humanSize(guestBytes)})`
    : `the output was read back and has the same disk, ${humanSize(guestBytes)}`;

/** The disk that was converted to the output of the command. Only a local file has a next step. */
async function madeDisk(
  image: AnyImage,
  { output, format }: ConvertCommand,
  { virtualSize, outputSize }: ConvertResult,
  { signal }: RunContext,
): Promise<MadeDisk | undefined> {
  if (output === STANDARD_OUTPUT || isHttp(output)) return undefined;
  const { machine, hardware, virtualSize: sizeOfImage } = image.info;
  const made = { file: output, format, outputSize, virtualSize, machine, hardware };
  if (sizeOfImage === undefined || image.streamed) return made;
  const { contentsOf } = await import('../contents/index.js');
  const read = (offset: number, length: number) => image.read(offset, length, { signal });
  // Without readable contents, nothing is known about them. The conversion has reported damage.
  return { ...made, contents: await contentsOf(read, sizeOfImage).catch(() => undefined) };
}

/** Reports the commands that bring the converted disks of one machine to `place`. */
export function reportNextStep(place: string, disks: readonly MadeDisk[]): void {
  const step = nextStep(place, disks);
  if (!step) return;
  for (const { message, fields } of step.notices) report(`note: ${message}: ${fields.source}`);
  const placeholders = new Set(step.commands.flatMap(({ placeholders }) => placeholders));
  const own = placeholders.size === 0 ? '' : `, with your own ${[...placeholders].join(', ')}`;
  const shell = step.shell === 'powershell' ? ', in PowerShell' : '';
  if (step.commands.length > 0) report(`next${shell}${own}:`);
  for (const { line } of step.commands) report(`  ${line}`);
}
