// Converts all disks of an archive or a machine: into a folder, or into one output.

import { mkdir, rmdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { localPath } from '../api/node-path.js';
import { DecantError, type DiskMember, toDecantError } from '../errors/errors.js';
import { fileError } from '../errors/file-error.js';
import { shownText } from '../errors/shown.js';
import { succeeds } from '../errors/signals.js';
import { addressOf, isHttp } from '../http/address.js';
import type { AnyImage } from '../node.js';
import type { MadeDisk } from '../public/types.places.js';
import { OutputPath } from '../targets/node/output-path.js';
import { ALL_DISKS } from './command-options.js';
import { type CommandOutput, type ConvertCommand, outputOf } from './command-output.js';
import { convert, isEncrypted, reportNextStep, reportNotEncrypted } from './convert-command.js';
import { printDigests } from './digest-text.js';
import { ARCHIVES, COMPRESSED, endingIn, extensionOf, MACHINES, takesSeveral } from './formats.js';
import { imageOf, type OpenDisk } from './open-image.js';
import { requireNoneOf, requireOutput } from './output-checks.js';
import { report } from './printing.js';
import type { RunContext } from './run-context.js';
import { STANDARD_INPUT, STANDARD_OUTPUT } from './standard-streams.js';

/** Fails with `usage` for `--disk all` unless the output is a folder, or a file that may have several disks. */
export function requireFolderForAll({ bmap, opening, output, format }: ConvertCommand, isFolder: boolean): void {
  if (isFolder && bmap !== undefined) throw new DecantError('usage', '--bmap is for one disk; state it with --disk');
  if (opening.disk !== ALL_DISKS || isFolder || takesSeveral(format)) return;
  const message = `--disk ${ALL_DISKS} needs a folder as the output, such as '${shownText(basename(output))}/'`;
  throw new DecantError('usage', message);
}

/**
 * Converts `disks`, which are all disks of the image, into the folder that is the output: each to a file with its number. Stops
 * at the first failure, which names the disk; the complete files stay. Reports each complete file; with `-q` only after a failure.
 * At the end, reports what comes next for all of them together, if they `areOfOne` machine. Returns whether all of each disk could be read.
 */
export async function convertAll(
  disks: readonly DiskMember[],
  open: OpenDisk,
  command: ConvertCommand,
  context: RunContext,
  areOfOne: boolean,
): Promise<boolean> {
  const outputs: string[] = [];
  const made: string[] = [];
  const forPlace: MadeDisk[] = [];
  let isWhole = true;
  let isAnyEncrypted = false;
  const newFolder = await makeFolder(command.output);
  const stem = join(command.output, stemOf(command.image));
  const files = disks.map((_, at) => new OutputPath(`${stem}-disk${at + 1}${extensionOf(command.format)}`));
  for (const [at, { name }] of disks.entries()) {
    const which = `disk ${at + 1} of ${disks.length}`;
    try {
      const image = imageOf(await open(at + 1));
      try {
        const file = files[at]!;
        const toFile = { ...command, output: file.path };
        await requireNoneOf(file.path, outputs);
        await requireOutput(toFile, file);
        const converted = await convert([image], toFile, file, context);
        printDigests(converted.digests, [name], false);
        isWhole &&= converted.isWhole;
        if (converted.made) forPlace.push(converted.made);
        isAnyEncrypted ||= isEncrypted(image);
        outputs.push(file.path);
        made.push(`made '${shownText(file.path)}' from '${shownText(name)}', ${which}`);
      } finally {
        await image.close();
      }
    } catch (thrown) {
      if (command.quiet) made.forEach(report);
      if (newFolder !== undefined) await removeEmpty(resolve(command.output), resolve(newFolder));
      throw failureOfDisk(thrown, name, at, disks.length);
    }
    if (!command.quiet) report(made.at(-1)!);
  }
  if (!isAnyEncrypted) reportNotEncrypted(command);
  if (areOfOne && command.place !== undefined && forPlace.length > 0) reportNextStep(command.place, forPlace);
  return isWhole;
}

/**
 * Converts `disks`, which are all disks of a machine, into one file with the name of the image, in the folder that is the output. Returns
 * whether all of each disk could be read.
 */
export async function convertIntoFolder(
  disks: readonly DiskMember[],
  open: OpenDisk,
  command: ConvertCommand,
  context: RunContext,
): Promise<boolean> {
  const output = join(command.output, `${stemOf(command.image)}${extensionOf(command.format)}`);
  const toFile = { ...command, output };
  const newFolder = await makeFolder(command.output);
  try {
    const found = await requireOutput(toFile);
    return await convertMachine(disks, open, toFile, await outputOf(toFile, found, context.signal), context);
  } catch (thrown) {
    if (newFolder !== undefined) await removeEmpty(resolve(command.output), resolve(newFolder));
    throw thrown;
  }
}

/** Makes `folder`. Resolves to the first folder that was made, if any. */
const makeFolder = (folder: string): Promise<string | undefined> =>
  mkdir(folder, { recursive: true }).catch((thrown) => {
    throw fileError(thrown, 'target', `make the folder '${folder}'`);
  });

/** Converts `disks`, which are all disks of the image, into one `output`. Returns whether all of each disk could be read. */
export async function convertMachine(
  disks: readonly DiskMember[],
  open: OpenDisk,
  command: ConvertCommand,
  output: CommandOutput,
  context: RunContext,
): Promise<boolean> {
  const images: AnyImage[] = [];
  try {
    for (const [at, { name }] of disks.entries()) {
      const image = await open(at + 1)
        .then(imageOf)
        .catch((thrown) => {
          throw failureOfDisk(thrown, name, at, disks.length);
        });
      images.push(image);
    }
    const { isWhole, made, digests } = await convert(images, command, output, context);
    const names = disks.map(({ name }) => name);
    printDigests(digests, names, command.output === STANDARD_OUTPUT);
    if (command.place !== undefined && made) reportNextStep(command.place, [made]);
    if (!images.some(isEncrypted)) reportNotEncrypted(command);
    return isWhole;
  } finally {
    for (const image of images) await image.close();
  }
}

/** The failure `cause` as that of the disk `name`, number `at` of `count`. */
export function failureOfDisk(cause: unknown, name: string, at: number, count: number): DecantError {
  const { kind, code, fields, message } = toDecantError(cause);
  const ofDisk = { ...fields, disk: name };
  const which = `'${shownText(name)}', disk ${at + 1} of ${count}`;
  return new DecantError(kind, `${which}: ${message}`, { code, fields: ofDisk, cause });
}

/** Removes `folder` if it is empty, and those around it up to `outermost`. */
async function removeEmpty(folder: string, outermost: string): Promise<void> {
  // A folder with files stays.
  const isRemoved = await succeeds(rmdir(folder));
  if (isRemoved && folder !== outermost) await removeEmpty(dirname(folder), outermost);
}

/** The ends of the names of archives and machines. */
const SEVERAL_DISKS = endingIn([...ARCHIVES, ...MACHINES]);
/** The ends of the names of compressed files, which may contain archives. */
const PACKED = endingIn(COMPRESSED);

/** The name of the archive or folder, without its extensions. */
function stemOf(image: string): string {
  if (image === STANDARD_INPUT) return 'image';
  const name = isHttp(image) ? basename(addressOf(image).name) : basename(resolve(localPath(image)));
  return name.replace(PACKED, '').replace(SEVERAL_DISKS, '') || 'image';
}
