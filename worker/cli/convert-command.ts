// `decant convert`.

import { shownText } from '../errors/shown.js';
import { isHttp } from '../http/address.js';
import type { AnyImage, Output } from '../node.js';
import { placeNamed, placeRefusal } from '../places/choice.js';
import { nextStep } from '../places/next-step.js';
import type { Result } from '../public/types.js';
import { type ConvertCommand, optionsFor } from './command-output.js';
import { shownInput } from './operands.js';
import { report, reportLost, reportUnlisted } from './printing.js';
import { ProgressLine, type WaitingLines } from './progress.js';
import { STANDARD_OUTPUT } from './standard-streams.js';

/** Converts `image` to `output`, which the command names. Returns whether the whole disk could be read. */
export async function convert(
  image: AnyImage,
  command: ConvertCommand,
  output: Output,
  waiting: WaitingLines,
  signal: AbortSignal,
): Promise<boolean> {
  const result = await run(image, command, output, waiting, signal);
  if (!command.quiet) {
    for (const note of command.notes) report(`note: ${note}`);
    warn(result, command.output);
    if (command.place !== undefined) reportNextStep(command.place, command, result);
  }
  return result.lostBytes === 0 && !result.notices.some(({ code }) => code === 'checksum-mismatch');
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
  image: AnyImage,
  command: ConvertCommand,
  output: Output,
  waiting: WaitingLines,
  signal: AbortSignal,
): Promise<Result> {
  const large = image.info.safety.find(({ code }) => code === 'large-window');
  if (large && !command.quiet) report(`note: ${large.message}`);
  const show = !command.quiet && (command.progress || process.stderr.isTTY);
  const line = show ? new ProgressLine(process.stderr) : undefined;
  waiting.isSilenced ||= show;
  let isNoted = false;
  try {
    const { existing, sparse, sync, resume } = command;
    const result = await image.convert(output, {
      signal,
      ...optionsFor(image, command, output),
      // The target of a page blob has it as its own option.
      existing: existing && typeof output === 'string',
      sparse,
      sync,
      resume,
      onProgress: (progress) => {
        if (image.streamed && progress.phase === 'measuring' && !isNoted) {
          isNoted = true;
          if (!command.quiet) report(`note: ${beforehand(image)}`);
        }
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

/** What is done before the conversion of a streamed disk, whose size is needed first. */
const beforehand = ({ info }: AnyImage): string =>
  info.fileSize === undefined
    ? 'the size of the disk is needed first, so the disk is stored in a temporary file'
    : 'the size of the disk is needed first, so the file is decoded twice';

function warn({ notices, lost, lostRanges, lostBytes, unusedCompanions }: Result, output: string): void {
  for (const { message } of notices) report(`note: ${message}`);
  for (const name of unusedCompanions) report(`note: no layer refers to '${shownText(name)}'`);
  for (const range of lost) reportLost(range);
  if (lostBytes === 0) return;
  reportUnlisted(lostRanges - lost.length);
  const name = output === STANDARD_OUTPUT ? 'standard output' : `'${shownText(shownInput(output))}'`;
  report(`${name} is damaged: ${lostBytes} bytes of the disk were lost or may be wrong`);
}

/** Reports the commands that bring the output of the command to `place`, and a limit of the place that it exceeds. */
function reportNextStep(place: string, { output, format }: ConvertCommand, result: Result): void {
  const refusal = placeRefusal(placeNamed(place), result);
  if (refusal) report(refusal.message);
  // Only a local file has a next step.
  if (output === STANDARD_OUTPUT || isHttp(output)) return;
  const { virtualSize, outputSize: size } = result;
  const step = nextStep(place, { file: output, format, size, virtualSize });
  if (!step) return;
  const own = step.replace.length === 0 ? '' : `, with your own ${step.replace.join(', ')}`;
  report(`next${own}:`);
  for (const command of step.commands) report(`  ${command}`);
}
