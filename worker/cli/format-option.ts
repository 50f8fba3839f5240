// The output's format, as `-O` and the name of the output state it.

import { DecantError } from '../errors/errors.js';
import { addressOf, isHttp } from '../http/address.js';
import { STANDARD_OUTPUT } from './standard-output.js';

const DEFAULT = 'raw';

/** What the end of a name states; the longest comes first. */
const EXTENSIONS = [
  ['.tar.gz', 'tar.gz'],
  ['.tgz', 'tar.gz'],
  ['.raw.gz', 'raw.gz'],
  ['.gz', 'raw.gz'],
  ['.vhd', 'vpc'],
  ['.raw', 'raw'],
  ['.img', 'raw'],
  ['.bin', 'raw'],
] as const;

/** Ends of names that state something that is not made. */
const UNSUPPORTED_EXTENSIONS = [
  ...['.qcow2', '.qcow', '.qed', '.vmdk', '.vhdx', '.vdi', '.ova', '.dmg', '.iso'],
  ...['.tar', '.xz', '.zst', '.bz2', '.lz4', '.zip', '.7z'],
];

/** Other names of formats, for `-O`. */
const ALIASES: Record<string, string> = { vhd: 'vpc' };

export interface FormatOption {
  format: string;
  /** What is odd about it, as a sentence. */
  note?: string;
}

/**
 * The format of `output`: `asked` for by `-O`, or what its name states, or raw. Fails with `usage` if the name states a format
 * that is not made, and none is asked for.
 */
export function outputFormat(output: string, asked: string | undefined): FormatOption {
  const name = nameOf(output).toLowerCase();
  const [madeEnd, made] = EXTENSIONS.find(([end]) => name.endsWith(end)) ?? [];
  const otherEnd = UNSUPPORTED_EXTENSIONS.find((end) => name.endsWith(end));
  if (asked === undefined) {
    if (otherEnd !== undefined) throw unsupportedExtension(otherEnd);
    return { format: made ?? DEFAULT };
  }
  const format = ALIASES[asked] ?? asked;
  const end = otherEnd ?? (made === format ? undefined : madeEnd);
  if (end === undefined) return { format };
  return { format, note: `the output is written as ${format}, as -O says, although its name ends in ${end}` };
}

/** The last part of a path or an address; nothing of standard output. */
function nameOf(output: string): string {
  const last = output.slice(output.lastIndexOf('/') + 1);
  if (output === STANDARD_OUTPUT) return '';
  return isHttp(output) ? addressOf(output).name : last;
}

function unsupportedExtension(end: string): DecantError {
  const message = `Decant does not make ${end} files yet; choose another name, or state with -O what is to be made`;
  return new DecantError('usage', message, { code: 'format-not-made', fields: { extension: end } });
}
