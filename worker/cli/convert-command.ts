// `decant convert`.

import { DecantError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import { isHttp } from '../http/http-url.js';
import type { AnyImage, Output } from '../node.js';
import type { Result } from '../public/types.js';
import type { Command } from './arguments.js';
import { awaitBeforeExit } from './clean-up.js';
import { reportLost, reportUnlisted } from './lost-ranges.js';
import { report } from './printing.js';
import { ProgressLine } from './progress-line.js';
import { shownInput } from './remote-inputs.js';
import { isSameFile } from './same-file.js';
import { STANDARD_OUTPUT, standardOutput } from './standard-output.js';
import { uploadTarget } from './upload-output.js';
import type { WaitingLines } from './waiting-lines.js';

/** The option of formats that are compressed on demand. */
const COMPRESS = 'compress';

/** Runs the conversion. Returns whether the whole disk could be read. */
export async function convert(
  image: AnyImage,
  command: Extract<Command, { name: 'convert' }>,
  waiting: WaitingLines,
  signal: AbortSignal,
): Promise<boolean> {
  const result = await run(image, command, waiting, signal);
  if (!command.quiet) {
    const isEncrypted = image.info.layers.some(({ encryption }) => encryption !== undefined);
    const unneeded = !isEncrypted && command.opening.passwordFiles.length > 0;
    for (const note of command.notes) report(`note: ${note}`);
    if (unneeded) report('note: no layer is encrypted, so --password-file is not needed');
    warn(result, command.output);
  }
  return result.lostBytes === 0;
}

async function run(
  image: AnyImage,
  command: Extract<Command, { name: 'convert' }>,
  waiting: WaitingLines,
  signal: AbortSignal,
): Promise<Result> {
  const show = !command.quiet && (command.progress || process.stderr.isTTY);
  const line = show ? new ProgressLine(process.stderr) : undefined;
  waiting.isSilenced ||= show;
  try {
    const { format, existing, sparse } = command;
    const output = await outputOf(command, signal);
    const result = await image.convert(output, {
      signal,
      format,
      formatOptions: optionsOf(image, command),
      // The target of a page blob has it as its own option.
      existing: existing && typeof output === 'string',
      sparse,
      sync: command.sync,
      resume: command.resume,
      twoPass: command.twoPass,
      // A file takes bytes in any order: the folder is only for unpacking.
      ...(command.spool === undefined || typeof output === 'string' ? {} : { spool: command.spool }),
      onProgress: (progress) => {
        line?.show(progress);
        waiting.report(progress.waiting);
      },
    });
    line?.done();
    return result;
  } finally {
    line?.end();
  }
}

/** The options of the output format. With `-c`, it compresses; fails with `usage` for a format that cannot, and for `-o compress=off`. */
function optionsOf({ formats }: AnyImage, command: Extract<Command, { name: 'convert' }>): Record<string, string> {
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
async function outputOf(command: Extract<Command, { name: 'convert' }>, signal: AbortSignal): Promise<Output> {
  const { output, upload, uploadHeaderFile, format, formatOptions, existing, image, opening } = command;
  if (output === STANDARD_OUTPUT) return standardOutput();
  if (!isHttp(output)) return output;
  // The server may write in place, and destroy the image while it is read.
  if (upload === undefined && isHttp(image) && (await isSameFile(output, image, opening, signal))) {
    throw new DecantError('target', `Could not upload to '${shownInput(output)}': it is the image itself`);
  }
  const headerFile = uploadHeaderFile;
  const target = await uploadTarget({ url: output, upload, headerFile, format, formatOptions, existing }, signal);
  const abort = target.abort.bind(target);
  target.abort = (...given) => {
    const aborted = abort(...given);
    awaitBeforeExit(aborted);
    return aborted;
  };
  return target;
}

function warn({ notices, lost, lostRanges, lostBytes, unusedCompanions }: Result, output: string): void {
  for (const { message } of notices) report(`note: ${message}`);
  for (const name of unusedCompanions) report(`note: no layer refers to '${shownText(name)}'`);
  for (const range of lost) reportLost(range);
  if (lostBytes === 0) return;
  reportUnlisted(lostRanges - lost.length);
  const place = output === STANDARD_OUTPUT ? 'standard output' : `'${shownText(shownInput(output))}'`;
  report(`${place} is damaged: ${lostBytes} bytes of the disk were lost and replaced by zeros`);
}
