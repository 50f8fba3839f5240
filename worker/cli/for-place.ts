// `--for`: what comes after the conversion.

import { isHttp } from '../http/address.js';
import type { Result } from '../node.js';
import { placeNamed, placeRefusal } from '../places/choice.js';
import { nextStep } from '../places/next-step.js';
import type { ConvertCommand } from './command-output.js';
import { report } from './printing.js';
import { STANDARD_OUTPUT } from './standard-output.js';

/** Reports the commands that bring the output of the command to `place`, and a limit of the place that it exceeds. */
export function reportNextStep(place: string, { output, format }: ConvertCommand, result: Result): void {
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
