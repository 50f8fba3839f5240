// The output of `decant convert`, and refusals that follow from the arguments alone.

import { DecantError } from '../errors/errors.js';
import { isHttp } from '../http/address.js';
import type { AnyImage, ConvertOptions, Output, Target } from '../node.js';
import { openAnyDisk } from './any-disk.js';
import type { Command } from './arguments.js';
import { awaitBeforeExit } from './clean-up.js';
import { imageHeaders } from './header-file.js';
import { shownInput } from './remote-inputs.js';
import { STANDARD_OUTPUT, standardOutput } from './standard-output.js';
import { uploadTarget } from './upload-output.js';

export type ConvertCommand = Extract<Command, { name: 'convert' }>;

/** The option of formats that are compressed on demand. */
const COMPRESS = 'compress';

/** Fails as the conversion of any image to `output` does with these arguments. Nothing is written to `output`. */
export async function requirePossible(command: ConvertCommand, output: Output, signal: AbortSignal): Promise<void> {
  const workers = command.workers === undefined ? {} : { workers: command.workers };
  const image = await openAnyDisk({ signal, ...workers });
  try {
    const { spool, ...options } = optionsFor(image, command, output);
    // A temporary file takes bytes in any order.
    await image.convert(likenessOf(spool === undefined ? output : ''), { signal, ...options });
  } finally {
    await image.close();
  }
}

/** A target that takes bytes in the same order as `output`, and ignores them. */
function likenessOf(output: Output): Target {
  const ignore = async () => {};
  const target = { write: ignore, close: ignore, abort: ignore };
  if (typeof output === 'string' || output instanceof URL) return target;
  if (!('write' in output)) return { ...target, ordered: true };
  const { ordered = false, lateStart = 0 } = output;
  return { ...target, ordered, lateStart };
}

/** The options of the conversion that do not depend on a kind of output. Fails with `usage` as {@link optionsOf} does. */
export const optionsFor = (image: AnyImage, command: ConvertCommand, output: Output): ConvertOptions => ({
  ...(command.place === undefined ? {} : { for: command.place }),
  format: command.format,
  formatOptions: optionsOf(image, command),
  twoPass: command.twoPass,
  // A file takes bytes in any order: the folder is only for unpacking, or for the disk of a stream.
  ...(command.spool === undefined || (typeof output === 'string' && !image.streamed) ? {} : { spool: command.spool }),
});

/** The options of the output format. With `-c`, it compresses; fails with `usage` for a format that cannot, and for `-o compress=off`. */
function optionsOf({ formats }: AnyImage, command: ConvertCommand): Record<string, string> {
  const { compress, format, formatOptions } = command;
  const chosen = formats.find(({ name }) => name === format);
  // An unknown format has a clearer error later.
  if (!compress || !chosen) return formatOptions;
  if (formatOptions[COMPRESS] === 'off')
    throw new DecantError('usage', '-c contradicts -o compress=off; omit one of them');
  if (chosen.options.some(({ name }) => name === COMPRESS)) return { [COMPRESS]: 'on', ...formatOptions };
  if (chosen.compressed) return formatOptions;
  const compressed = formats.filter((output) => output.compressed).map(({ name }) => name);
  throw new DecantError('usage', `-c needs a compressed output format: -O ${compressed.join(' or -O ')}`);
}

/** Makes the `Output` of the argument. */
export async function outputOf(command: ConvertCommand, signal: AbortSignal): Promise<Output> {
  const { output, upload, uploadHeaderFile: headerFile, image, opening } = command;
  if (output === STANDARD_OUTPUT) return standardOutput();
  if (!isHttp(output)) return output;
  if (upload === undefined && isHttp(image)) {
    const { isSameFile } = await import('./same-file.js');
    // The server may write in place, and destroy the image while it is read.
    if (await isSameFile(output, image, () => imageHeaders(opening, signal), signal))
      throw new DecantError('target', `Could not upload to '${shownInput(output)}': it is the image itself`);
  }
  const target = await uploadTarget({ ...command, url: output, headerFile }, signal);
  const abort = target.abort.bind(target);
  target.abort = (...given) => {
    const aborted = abort(...given);
    awaitBeforeExit(aborted);
    return aborted;
  };
  return target;
}
