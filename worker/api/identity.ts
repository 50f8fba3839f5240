// What tells a conversion from all others, for resuming it: the same text stands for the same bytes of output.

import { DecantError } from '../errors.js';
import type { CommonConvertOptions, Info } from '../types.js';
import type { Opening } from '../workers/session.js';

/** What the journal of an older version says may not hold for a newer one. */
const VERSION = 1;

/** One line of text. Fails with `usage` where a conversion cannot be resumed. */
export function identityOf(
  { sources, settings }: Opening,
  info: Info,
  format: string,
  compressed: boolean,
  { formatOptions = {} }: CommonConvertOptions,
): string {
  const refused = (reason: string) => new DecantError('usage', `The conversion cannot be resumed: ${reason}`);
  if (compressed) throw refused(`an output in ${format} is made in one go`);
  if (settings.salvage) throw refused('what is lost is found in one go');
  // Without a check of its password the same image could be two disks.
  if (info.layers.some(({ encryption }) => encryption === 'aes'))
    throw refused('the image is encrypted by the old AES method');
  const states = sources.all.map(({ state }) => state);
  if (states.includes(undefined)) throw refused('nothing tells later whether the image is still the same');
  const { companions } = sources;
  const { format: opened, snapshot } = settings;
  return JSON.stringify({ version: VERSION, format, formatOptions, opened, snapshot, states, companions });
}
