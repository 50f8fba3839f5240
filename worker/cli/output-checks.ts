// Checks the output of a conversion before the image is opened.

import { constants, fstat } from 'node:fs';
import { access, lstat, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { toPath } from '../api/node-path.js';
import { DecantError } from '../errors/errors.js';
import { fileError, fileExists } from '../errors/file-error.js';
import { isHttp } from '../http/address.js';
import { CONTAINERS } from '../public/registry.js';
import { overlap } from '../targets/node/device.js';
import { OutputPath } from '../targets/node/output-path.js';
import { PathTarget } from '../targets/node/path.js';
import { folderGiven, resolvePath } from '../targets/node/resolved-path.js';
import { ALL_DISKS } from './command-options.js';
import type { ConvertCommand } from './command-output.js';
import { filesOf, statsOf } from './operands.js';
import { passwordFile } from './secret-files.js';
import { requireFile, requireNoTerminal, STANDARD_INPUT, STANDARD_OUTPUT, STDIN, STDOUT } from './standard-streams.js';

/** Whether `output` is a folder: an existing one, or a path that ends in a slash. */
export async function isFolder(output: string): Promise<boolean> {
  if (output === STANDARD_OUTPUT || isHttp(output)) return false;
  const stats = await statsOf(output);
  return stats ? stats.isDirectory() : /\/$/.test(output);
}

/** Formats whose files may hold several disks. */
const ARCHIVES: unknown[] = CONTAINERS.filter(({ isArchive }) => isArchive).map(({ name }) => name);

/** Fails with `usage` if the output is a folder, and only one disk can be converted. `format` is the format of the image, if known. */
export async function requireFileForOne({ opening, output }: ConvertCommand, format?: unknown): Promise<void> {
  const { disk } = opening;
  const isOne = disk === undefined ? format !== undefined && !ARCHIVES.includes(format) : disk !== ALL_DISKS;
  if (isOne && (await isFolder(output))) throw folderGiven(output);
}

/**
 * Fails with `target` if files cannot be made in `folder`, or in the closest existing folder around it, and with `usage` if there is
 * a file in its place.
 */
async function requireWritableFolder(folder: string): Promise<void> {
  // A path that cannot be examined fails below, with its reason.
  if ((await statsOf(resolve(folder)))?.isFile()) throw folderGiven(folder);
  for (let at = resolve(folder); ; at = dirname(at)) {
    try {
      // A path that ends in a slash fails for a file.
      return await access(join(at, '/'), constants.W_OK | constants.X_OK);
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code !== 'ENOENT' || at === dirname(at)) throw fileError(thrown, 'target', `write to '${folder}'`);
    }
  }
}

/**
 * Fails with `usage` if `output` is one of the files `read`, or a device backed by one of them. Each is a path, or `-`.
 */
export async function requireOtherFiles(output: string, read: string[]): Promise<void> {
  const found = await find(output, STANDARD_OUTPUT, STDOUT);
  if (!found) return;
  for (const path of read) {
    const file = await find(path, STANDARD_INPUT, STDIN);
    // Terminals and devices such as /dev/null can be both.
    const holdsContent = file?.isFile() || file?.isBlockDevice();
    if (!file || !holdsContent || !(await overlap(found, file))) continue;
    const [to, from] = [name(output, 'Standard output'), name(path, 'the file of standard input')];
    throw new DecantError('usage', `${to} is ${from}, an input of the command; choose another output`);
  }
}

/** Fails with `usage` if `output` is one of the files `made`, each of which has another disk: through a link, for example. */
export async function requireNoneOf(output: string, made: readonly string[]): Promise<void> {
  const found = await find(output, STANDARD_OUTPUT, STDOUT);
  for (const path of made) {
    const file = await find(path, STANDARD_OUTPUT, STDOUT);
    if (!found || !file || !(await overlap(found, file))) continue;
    throw new DecantError(
      'usage',
      `'${output}' is the same file as '${path}', which has another disk; choose another folder`,
    );
  }
}

/** Resolves to the stats of `path`, or of `fd` if `path` is `standard`; `undefined` if they cannot be read. */
const find = (path: string, standard: string, fd: number) => {
  const found = path === standard ? promisify(fstat)(fd, { bigint: true }) : stat(path, { bigint: true });
  // Ignored: opening the file will fail.
  return found.catch(() => undefined);
};

const name = (path: string, standard: string): string => (path === '-' ? standard : `'${path}'`);

/**
 * Fails with `target` if the new file `bmap` exists, or cannot be made in its folder, and with `usage` if it would be the file `output`,
 * perhaps through a link.
 */
export async function requireBmap(bmap: string, output: string): Promise<void> {
  // The checks below report a path that cannot be read.
  if (await lstat(bmap).catch(() => undefined)) throw fileExists(bmap);
  const failed = (thrown: unknown) => fileError(thrown, 'target', `write '${bmap}'`);
  const { folder, name } = await resolvePath(bmap).catch((thrown) => {
    throw failed(thrown);
  });
  await access(folder, constants.W_OK | constants.X_OK).catch((thrown) => {
    throw failed(thrown);
  });
  // The target says why an output cannot be resolved.
  const other = await resolvePath(toPath(output)).catch(() => undefined);
  if (other?.folder.equals(folder) && other.name.equals(name))
    throw new DecantError('usage', '--bmap and OUTPUT name the same file');
}

/**
 * Fails if the output is a terminal, an input file, or a pipe by name, or if nothing can be written there. Resolves to a file as it is found:
 * at the start of the command, or `found` before.
 */
export async function requireOutput(command: ConvertCommand, found?: OutputPath): Promise<OutputPath | undefined> {
  const { bmap, image, opening, output, uploadHeaderFile, existing, resume } = command;
  const passwords = opening.passwordFiles.map((argument) => passwordFile(argument).file);
  const headers = [opening.headers?.file, uploadHeaderFile].filter((file) => file !== undefined);
  const secrets = [...passwords, ...headers];
  if (bmap !== undefined) await requireBmap(bmap, output);
  if (isHttp(output)) return undefined;
  if (output === STANDARD_OUTPUT) {
    requireNoTerminal();
    await requireOtherFiles(output, [image, ...filesOf(opening.companions), ...secrets]);
    return undefined;
  }
  const path = found ?? new OutputPath(toPath(output));
  await requireFile(output);
  // The package checks images with a path.
  await requireOtherFiles(output, [...(image === STANDARD_INPUT ? [image] : []), ...secrets]);
  if (await isFolder(output)) {
    await requireFileForOne(command);
    await requireWritableFolder(output);
    return undefined;
  }
  await new PathTarget(path, [], { existing }).requireWritable(resume);
  return path;
}
