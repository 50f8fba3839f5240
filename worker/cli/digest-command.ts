// `decant digest`.

import { shownText } from '../errors/shown.js';
import type { AnyImage } from '../node.js';
import type { DiskDigest, TreeDigest } from '../public/types.js';
import type { CommandOf } from './arguments.js';
import { ALL_DISKS } from './command-options.js';
import { EXIT_DAMAGED } from './commands.js';
import { failureOfDisk } from './convert-all.js';
import { digestLine, digestObject, reportLosses, reportTime } from './digest-text.js';
import { imageOf, type OpenDisk, openAll } from './open-image.js';
import { shownInput } from './operands.js';
import { print, report } from './printing.js';
import { type ProgressLine, progressLine } from './progress.js';
import { orUnpacked, type RunContext, unpackingOf } from './run-context.js';

type DigestCommand = CommandOf<'digest'>;

/** Prints the digest of the disk that the command names, or of all disks. Returns the exit code. */
export async function digest(command: DigestCommand, context: RunContext): Promise<number> {
  const { image, opening, json } = command;
  context.waiting.isSilenced = command.quiet;
  const unpacking = unpackingOf(command);
  const open = await context.opener(image, opening, unpacking);
  const ofDisk = (disk: string | number | undefined, name: string) =>
    orUnpacked(unpacking, () => digestOf(command, open, disk, name, context));
  if (opening.disk !== ALL_DISKS) {
    const { digest, isWhole } = await ofDisk(opening.disk, image);
    print(json ? JSON.stringify(digestObject(digest, image)) : lineOf(digest, image));
    return isWhole ? 0 : EXIT_DAMAGED;
  }
  const names = await orUnpacked(unpacking, () => namesOfAll(open));
  const objects: object[] = [];
  let exitCode = 0;
  for (const [at, name] of names.entries()) {
    const { digest, isWhole } = await ofDisk(at + 1, name).catch((thrown) => {
      throw failureOfDisk(thrown, name, at, names.length);
    });
    if (json) objects.push(digestObject(digest, name));
    else print(lineOf(digest, name));
    if (!isWhole) exitCode = EXIT_DAMAGED;
  }
  if (json) print(JSON.stringify(objects));
  return exitCode;
}

/** The names of all disks of the image. */
async function namesOfAll(open: OpenDisk): Promise<string[]> {
  const opened = await openAll(open);
  if ('choice' in opened) return opened.choice.disks.map(({ name }) => name);
  const image = imageOf(opened);
  await image.close();
  return image.disks.map(({ name }) => name);
}

/** Opens a disk, and computes its digest. Reports whether the whole disk could be read, and returns that too. */
async function digestOf(
  command: DigestCommand,
  open: OpenDisk,
  disk: string | number | undefined,
  name: string,
  context: RunContext,
): Promise<{ digest: DiskDigest | TreeDigest; isWhole: boolean }> {
  const image = imageOf(await open(disk));
  const line = progressLine(command);
  context.waiting.isSilenced ||= line.isShown;
  try {
    if (!command.tree && !command.quiet) reportTime(image.info.virtualSize);
    const digest = await compute(image, command.tree, line, context);
    line.done();
    line.end();
    if (!command.quiet) for (const { message } of digest.notices ?? []) report(`note: ${message}`);
    return { digest, isWhole: reportLosses(digest, `'${shownText(shownInput(name))}'`) };
  } catch (thrown) {
    line.end();
    throw thrown;
  } finally {
    await image.close();
  }
}

const compute = (
  image: AnyImage,
  tree: boolean,
  line: ProgressLine,
  { waiting, signal }: RunContext,
): Promise<DiskDigest | TreeDigest> => {
  const options = {
    signal,
    onProgress: (progress: Parameters<ProgressLine['show']>[0]) => {
      line.show(progress);
      waiting.report(progress.waiting);
    },
  };
  return tree ? image.digest({ ...options, tree }) : image.digest(options);
};

/** The line that `sha256sum` or `fsverity digest` prints for a raw file with the disk. */
const lineOf = (digest: DiskDigest | TreeDigest, name: string): string =>
  'sha256' in digest ? digestLine(digest.sha256, name) : `${digest.fsverity} ${name}`;
