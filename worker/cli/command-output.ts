// The output of `decant convert`, the options of its format, and refusals that follow from the arguments alone.

import { basename } from 'node:path';
import { DecantError } from '../errors/errors.js';
import { addressOf, isHttp } from '../http/address.js';
import { type AnyImage, type ConvertOptions, type OpenOptions, type Output, open, type Target } from '../node.js';
import { OutputPath } from '../targets/node/output-path.js';
import type { CommandOf } from './arguments.js';
import { COMPRESS } from './formats.js';
import { awaitBeforeExit } from './interrupts.js';
import { LooseMachine } from './loose-machine.js';
import { filesOf, shownInput } from './operands.js';
import { print } from './printing.js';
import { headersFor } from './secret-files.js';
import { STANDARD_OUTPUT, standardOutput } from './standard-streams.js';

/** Fits every output format. */
const SIZE = 1 << 20;

/** Opens an empty raw disk. */
const openAnyDisk = (options: OpenOptions): Promise<AnyImage> =>
  open(new Uint8Array(SIZE), { inputFormat: 'raw', ...options });

/** Prints the options of the output format `format`. */
export async function printOptions(format: string, signal: AbortSignal): Promise<void> {
  // An image lists the output formats.
  const image = await openAnyDisk({ signal });
  try {
    const { options = [] } = image.formats.find(({ name }) => name === format) ?? {};
    if (options.length === 0) print(`The output format ${format} has no options`);
    for (const { name, values, other, default: usual } of options)
      print(`${name}=${values.join('|')} (default: ${usual}${other === undefined ? '' : `; or ${other}`})`);
  } finally {
    await image.close();
  }
}

export type ConvertCommand = CommandOf<'convert'>;

/** An output of the command: a file as the command found it, or any of the package. */
export type CommandOutput = Output | OutputPath;

/** Whether `output` is a file or a folder here. */
export const isLocal = (output: CommandOutput): output is OutputPath | string =>
  typeof output === 'string' || output instanceof OutputPath;

/** Fails as the conversion of any image to `output` does with these arguments. Nothing is written to `output`. */
export async function requirePossible(
  command: ConvertCommand,
  output: CommandOutput,
  signal: AbortSignal,
): Promise<void> {
  const workers = command.workers === undefined ? {} : { workers: command.workers };
  const image = await openAnyDisk({ signal, ...workers });
  try {
    // The size is checked with the image itself.
    const { spool, size: _, ...options } = optionsFor(image, command, output);
    // A temporary file takes bytes in any order.
    await image.convert(discardingTarget(spool === undefined ? output : ''), { signal, ...options });
  } finally {
    await image.close();
  }
}

/** A target that takes bytes in the same order as `output`, and ignores them. */
function discardingTarget(output: CommandOutput): Target {
  const ignore = async () => {};
  const target = { write: ignore, close: ignore, abort: ignore };
  if (isLocal(output) || output instanceof URL) return target;
  if (!('write' in output)) return { ...target, ascending: true };
  const { ascending = false, lateStart = 0 } = output;
  return { ...target, ascending, lateStart };
}

/** The options of the conversion that do not depend on a kind of output. Fails with `usage` as {@link optionsOf} does. */
export const optionsFor = (image: AnyImage, command: ConvertCommand, output: CommandOutput): ConvertOptions => ({
  ...(command.place === undefined ? {} : { for: command.place }),
  format: command.format,
  formatOptions: optionsOf(image, command),
  twoPass: command.twoPass,
  ...(command.size === undefined ? {} : { size: command.size }),
  ...(command.fixGpt && { fixGpt: true }),
  // A file takes bytes in any order: the folder is only for unpacking, or for the disk of a stream.
  ...(command.spool === undefined || (isLocal(output) && !image.streamed) ? {} : { spool: command.spool }),
});

/** The options of the output format. With `-c`, it compresses; fails with `usage` for a format that cannot. */
function optionsOf({ formats }: AnyImage, command: ConvertCommand): Record<string, string> {
  const { compress, format, output } = command;
  const chosen = formats.find(({ name }) => name === format);
  // A server is a target without a name for the machine.
  const isNamed = isHttp(output) && chosen?.options.some(({ name }) => name === 'name');
  const formatOptions: Record<string, string> = {
    ...(isNamed && { name: basename(addressOf(output).name, chosen?.extension) }),
    ...command.formatOptions,
  };
  if (!compress || !chosen) return formatOptions;
  if (chosen.options.some(({ name }) => name === COMPRESS)) return { ...formatOptions, [COMPRESS]: 'on' };
  if (chosen.compressed) return formatOptions;
  const compressed = formats.filter((output) => output.compressed).map(({ name }) => name);
  throw new DecantError('usage', `-c needs a compressed output format: -O ${compressed.join(' or -O ')}`);
}

/** Makes the output of the argument, which is a file if it was `found`. */
export async function outputOf(
  command: ConvertCommand,
  found: OutputPath | undefined,
  signal: AbortSignal,
): Promise<CommandOutput> {
  const { output, uploadHeaderFile: headerFile } = command;
  if (output === STANDARD_OUTPUT) return standardOutput();
  if (command.isLoose) return removedBeforeExit(new LooseMachine(output));
  if (!isHttp(output)) return found ?? output;
  const { uploadTarget } = await import('./upload-output.js');
  await requireOtherAddress(command, output, signal);
  return removedBeforeExit(await uploadTarget({ ...command, url: output, headerFile }, signal));
}

/** Fails with `target` if `output`, a URL, is that of a file that the conversion reads. */
async function requireOtherAddress(command: ConvertCommand, output: string, signal: AbortSignal): Promise<void> {
  const { upload, existing, image, opening } = command;
  const read = [image, ...filesOf(opening.companions)].filter(isHttp);
  const { isSameFile } = await import('./upload-output.js');
  for (const file of read) {
    // One request writes in place on some servers, and would destroy the image while it is read, as `-n` does. Other uploads replace it at
    // their end.
    if (file === image && upload !== undefined && !existing) continue;
    const headers = () => headersFor(file, opening.headers, signal);
    if (!(await isSameFile(output, file, headers, signal))) continue;
    const what = file === image ? 'the image itself' : 'a file that the image needs';
    throw new DecantError('target', `Could not upload to '${shownInput(output)}': it is ${what}`);
  }
}

/** Lets the command wait until `target` is removed. */
function removedBeforeExit<T extends Target>(target: T): T {
  const abort = target.abort.bind(target);
  target.abort = (...given) => {
    const aborted = abort(...given);
    awaitBeforeExit(aborted);
    return aborted;
  };
  return target;
}
