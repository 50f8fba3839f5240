// The output format, by `-O` or the output's extension.

import { DecantError } from '../errors/errors.js';
import { addressOf } from '../http/address.js';
import { isHttp } from '../http/http-url.js';
import { STANDARD_OUTPUT } from './standard-output.js';

const DEFAULT = 'raw';

/** Extensions of formats; longer ones first. */
const EXTENSIONS = [
  ['.tar.gz', 'tar.gz'],
  ['.tgz', 'tar.gz'],
  ['.raw.gz', 'raw.gz'],
  ['.gz', 'raw.gz'],
  ['.qcow2', 'qcow2'],
  ['.vmdk', 'vmdk'],
  ['.vhd', 'vpc'],
  ['.raw', 'raw'],
  ['.img', 'raw'],
  ['.bin', 'raw'],
] as const;

/** Extensions of formats that Decant does not write. */
const UNSUPPORTED_EXTENSIONS = [
  ...['.qcow', '.qed', '.vhdx', '.vdi', '.ova', '.dmg', '.iso'],
  ...['.tar', '.xz', '.zst', '.bz2', '.lz4', '.zip', '.7z'],
];

const ALIASES: Record<string, string> = { vhd: 'vpc' };

/** Returns the name of the format `name`, which may be an alias. */
export const formatName = (name: string): string => ALIASES[name] ?? name;

interface FormatOption {
  format: string;
  /** A remark about the extension, as a sentence. */
  note?: string;
}

/**
 * Returns the format of `output`: `asked` (`-O`), otherwise by its extension, otherwise raw. Fails with `usage` for the extension
 * of an unsupported format without `-O`.
 */
export function outputFormat(output: string, asked: string | undefined): FormatOption {
  const name = nameOf(output).toLowerCase();
  const [madeEnd, made] = EXTENSIONS.find(([end]) => name.endsWith(end)) ?? [];
  const otherEnd = UNSUPPORTED_EXTENSIONS.find((end) => name.endsWith(end));
  if (asked === undefined) {
    const packed = madeEnd === '.gz' ? imageIn(name.slice(0, -madeEnd.length)) : undefined;
    if (packed !== undefined) throw unsupportedExtension(packed + madeEnd);
    if (otherEnd !== undefined) throw unsupportedExtension(otherEnd);
    return { format: made ?? DEFAULT };
  }
  const format = formatName(asked);
  const end = otherEnd ?? (made === format ? undefined : madeEnd);
  if (end === undefined) return { format };
  return { format, note: `the output is ${format}, by -O, although its name ends in ${end}` };
}

/** The extension of an image other than a raw disk that `stem` ends in. */
const imageIn = (stem: string): string | undefined =>
  [...EXTENSIONS.filter(([, format]) => format !== 'raw').map(([end]) => end), ...UNSUPPORTED_EXTENSIONS].find((end) =>
    stem.endsWith(end),
  );

/** Returns the last part of a path or URL; for standard output an empty string. */
function nameOf(output: string): string {
  const last = output.slice(output.lastIndexOf('/') + 1);
  if (output === STANDARD_OUTPUT) return '';
  return isHttp(output) ? addressOf(output).name : last;
}

function unsupportedExtension(end: string): DecantError {
  const message = `Decant does not write ${end} files yet; choose another extension, or a format with -O`;
  return new DecantError('usage', message, { code: 'format-not-made', fields: { extension: end } });
}
