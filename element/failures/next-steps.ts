// Steps that a person can take after a failure: only those that may work, the most likely first.

import { type DecantError, type ErrorKind, open } from 'decant';
import { mayBeRaw } from '../files/bundle.js';
import { sourceOf } from '../files/input-file.js';
import { type Opening, openingOptions } from '../files/opening.js';
import type { Next } from '../steps/state.js';

/** Whether a companion caused the error. */
export const isOfCompanion = ({ kind, fields }: DecantError): boolean =>
  kind !== 'missing-file' && fields.file !== undefined;

/** Lists the steps to offer after `error`. */
export async function nextSteps(error: DecantError, opening: Opening, signal: AbortSignal): Promise<Next[]> {
  const handedOver = opening.companions.length + opening.answers.length > 0;
  const steps: Next[] = [];
  switch (error.kind) {
    case 'not-recognised':
      if ((['state-format', 'later-part'].includes(error.code) || mayBeRaw(opening.top)) && !isOfCompanion(error))
        steps.push('raw');
      break;
    case 'corrupt':
      // To find out, an image that was unpacked would be unpacked again.
      if (!opening.salvage && (opening.spool || (await canSalvage(opening, signal)))) steps.push('salvage');
      break;
    case 'source':
      // A handle returns the file as it is now. A `File` stays as it was when it was chosen.
      if (opening.top.link) steps.push('again');
      else if (opening.top.handle && !(await isEmptyNow(opening.top.handle))) steps.push('again');
      break;
    case 'cancelled':
    case 'target':
      steps.push('saveAgain');
      break;
    case 'internal':
      steps.push('again');
      break;
  }
  if (handedOver && isOfCompanion(error)) steps.unshift('filesAgain');
  else if (handedOver && aboutContent.includes(error.kind)) steps.push('filesAgain');
  return steps;
}

/** Whether the file is empty, as the browser's save dialog leaves it. False if the file cannot be read. */
async function isEmptyNow(handle: FileSystemFileHandle): Promise<boolean> {
  const file = await handle.getFile().catch(() => undefined);
  return file?.size === 0;
}

/** Kinds of failures that a wrong companion, or one too many, may cause. */
const aboutContent: ErrorKind[] = ['corrupt', 'unsupported', 'not-recognised', 'usage'];

/** Whether a salvage would read any data. */
async function canSalvage(opening: Opening, signal: AbortSignal): Promise<boolean> {
  try {
    const options = await openingOptions(opening, signal);
    const image = await open(await sourceOf(opening.top, signal), { ...options, salvage: true, signal });
    try {
      if (image.streamed) return false;
      for await (const { kind } of image.map({ signal })) if (kind === 'data') return true;
      return false;
    } finally {
      await image.close();
    }
  } catch {
    return false;
  }
}
