// Names and extensions of formats, and the output format, by `-O`, the place or the output's extension.

import { DecantError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import { addressOf, isHttp } from '../http/address.js';
import { choiceFor, placeNamed } from '../places/choice.js';
import { CONTAINERS, FORMATS, OUTPUTS } from '../public/registry.js';
import { mistyped } from './did-you-mean.js';
import { STANDARD_OUTPUT } from './standard-streams.js';

const escaped = (extension: string): string => extension.replaceAll('.', String.raw`\.`);

/** Returns a pattern of names that end in one of `extensions`, in any case. */
export const endingIn = (extensions: string[]): RegExp => new RegExp(`(?:${extensions.map(escaped).join('|')})$`, 'i');

const extensionsOf = (members: { extensions: string[] }[]): string[] => members.flatMap(({ extensions }) => extensions);

/** Extensions of disk images in formats that Decant reads. */
export const IMAGES = extensionsOf(FORMATS.filter(({ kind }) => kind === 'image'));
/** Extensions of configurations of virtual machines. */
export const MACHINES = extensionsOf(FORMATS.filter(({ kind }) => kind === 'machine'));
/** Extensions of containers that may have several files. */
export const ARCHIVES = extensionsOf(CONTAINERS.filter(({ isArchive }) => isArchive));
/** Extensions of files that are compressed as a whole. */
export const COMPRESSED = extensionsOf(CONTAINERS.filter(({ isArchive }) => !isArchive));
/** Extensions of all files that are recognised. */
export const KNOWN = extensionsOf([...FORMATS, ...CONTAINERS]);

const DEFAULT = 'raw';

/** The option of formats that are compressed on demand: `-c`. */
export const COMPRESS = 'compress';

/** Extensions of formats; longer ones first. */
const EXTENSIONS = OUTPUTS.flatMap(({ name, extensions }) => extensions.map((end) => [end, name] as const)).toSorted(
  ([a], [b]) => b.length - a.length,
);

const isMade = (end: string): boolean => EXTENSIONS.some(([made]) => made === end);

/** Extensions of formats that Decant does not write. */
const UNSUPPORTED_EXTENSIONS = KNOWN.filter((end) => !isMade(end));

/** Whether a file in the output format `name` may have several disks. */
export const takesSeveral = (name: string): boolean =>
  OUTPUTS.some((format) => format.name === name && format.severalDisks);

/** The extension of files in the output format `name`. */
export const extensionOf = (name: string): string =>
  OUTPUTS.find((format) => format.name === name)?.extensions[0] ?? '';

const ALIASES = new Map([...FORMATS, ...OUTPUTS].flatMap(({ name, aliases }) => aliases.map((alias) => [alias, name])));

/** Returns the name of the format `name`, which may be an alias, in any case. */
export function formatName(name: string): string {
  const lower = name.toLowerCase();
  return ALIASES.get(lower) ?? lower;
}

/** The names of formats that Decant reads. */
export const INPUT_FORMATS = FORMATS.filter(({ kind }) => kind === 'image').map(({ name }) => name);

/** Returns the name of the input format `name`, which may be an alias. Fails with `usage` if there is none. */
export const inputFormat = (name: string): string => knownFormat('input', name, INPUT_FORMATS);

/** Returns the name of the format `name`, which may be an alias. Fails with `usage` if it is not one of `known`. */
function knownFormat(direction: string, name: string, known: readonly string[]): string {
  const format = formatName(name);
  if (known.includes(format)) return format;
  const message = `There is no ${direction} format '${shownText(name)}'`;
  throw mistyped(message, format, known, `choose one of ${known.join(', ')}`);
}

interface FormatOption {
  format: string;
  formatOptions: Record<string, string>;
  /** A remark about the extension, as a sentence. */
  note?: string;
  /** Whether the files of the machine are separate files in one folder: an OVF. */
  isLoose?: boolean;
}

/** The name of an OVF, which is made of the files of an OVA, and the extension of its descriptor. */
const LOOSE = { name: 'ovf', format: 'ova', end: '.ovf' };

/** The names of formats that the command writes. */
export const OUTPUT_FORMATS = [...OUTPUTS.map(({ name }) => name), LOOSE.name];

/** Names that the files of an OVA have unchanged. */
const LOOSE_NAME = /^[A-Za-z0-9_=+][A-Za-z0-9._=+-]{0,79}$/;

/** Extensions that are used for disks in any format: all of raw disks except `.raw`, such as `.img`. */
const VAGUE = EXTENSIONS.filter(([end, format]) => format === DEFAULT && end !== `.${DEFAULT}`).map(([end]) => end);

/** The arguments that decide about the format. */
interface FormatArguments {
  /** `-O`. */
  requestedFormat?: string | undefined;
  /** `-o`. */
  options?: Record<string, string>;
  /** `--for`. */
  place?: string | undefined;
}

/**
 * Returns the format of `output` and its options: `-O`, otherwise the best for the place, otherwise by the extension, otherwise
 * raw. Fails with `usage` for an unknown `-O`, for the extension of an unsupported format without `-O`, and if the place does not
 * accept the format of `-O` or of the extension.
 */
export function outputFormat(
  output: string,
  { requestedFormat, options = {}, place }: FormatArguments = {},
): FormatOption {
  const requested = requestedFormat === undefined ? undefined : knownFormat('output', requestedFormat, OUTPUT_FORMATS);
  if (requested === LOOSE.name || (requested === undefined && nameOf(output).endsWith(LOOSE.end)))
    return looseFormat(output, options, place);
  const chosen = requested ?? formatByExtension(output);
  if (place === undefined) {
    const format = chosen ?? DEFAULT;
    return { format, formatOptions: options, ...(requested !== undefined && noteOn(output, format, '-O')) };
  }
  const isVague = requested === undefined && VAGUE.some((end) => nameOf(output).endsWith(end));
  const wanted = chosen === undefined || isVague ? {} : { format: chosen };
  const choice = choiceFor(placeNamed(place), { ...wanted, formatOptions: options });
  return { ...choice, ...noteOn(output, choice.format, requested === undefined ? '--for' : '-O') };
}

/** Returns the format of an OVF. Fails with `usage` if `output` is not the path of a descriptor whose files can have its name. */
function looseFormat(output: string, options: Record<string, string>, place: string | undefined): FormatOption {
  const usage = (message: string) => new DecantError('usage', message);
  if (place !== undefined) throw usage('--for makes one file; choose ova instead of ovf');
  // `-o help` has no output.
  if (output === '') return { format: LOOSE.format, formatOptions: options, isLoose: true };
  const file = output.slice(output.lastIndexOf('/') + 1);
  const name = file.slice(0, -LOOSE.end.length);
  if (isHttp(output) || !file.endsWith(LOOSE.end) || !LOOSE_NAME.test(name) || name.endsWith('-'))
    throw usage(
      'An OVF is several files: OUTPUT must be a path that ends in NAME.ovf, with a NAME of ASCII letters, digits and ._=+-',
    );
  if (options.name !== undefined) throw usage('The files of an OVF have the name of OUTPUT; omit -o name');
  return { format: LOOSE.format, formatOptions: { ...options, name }, isLoose: true };
}

/** Returns the format of the extension of `output`, if any. Fails with `usage` if it is not supported. */
function formatByExtension(output: string): string | undefined {
  const name = nameOf(output);
  const [madeEnd, made] = madeBy(name);
  const packed = madeEnd === '.gz' ? imageIn(name.slice(0, -madeEnd.length)) : undefined;
  if (packed !== undefined) throw unsupportedExtension(packed + madeEnd);
  const otherEnd = unsupportedEnd(name);
  if (otherEnd !== undefined) throw unsupportedExtension(otherEnd);
  return made;
}

/** Returns a remark if the extension of `output` states another format than `format`, which `by` has chosen. */
function noteOn(output: string, format: string, by: string): { note?: string } {
  const name = nameOf(output);
  const [madeEnd, made] = madeBy(name);
  const end = unsupportedEnd(name) ?? (made === format ? undefined : madeEnd);
  return end === undefined ? {} : { note: `the output is ${format}, as ${by} says, although its name ends in ${end}` };
}

const madeBy = (name: string) => EXTENSIONS.find(([end]) => name.endsWith(end)) ?? [];

const unsupportedEnd = (name: string): string | undefined => UNSUPPORTED_EXTENSIONS.find((end) => name.endsWith(end));

/** The extension of an image other than a raw disk that `stem` ends in. */
const imageIn = (stem: string): string | undefined =>
  [...EXTENSIONS.filter(([, format]) => format !== DEFAULT).map(([end]) => end), ...UNSUPPORTED_EXTENSIONS].find(
    (end) => stem.endsWith(end),
  );

/** Returns the last part of a path or URL in lower case; for standard output an empty string. */
function nameOf(output: string): string {
  const last = output.slice(output.lastIndexOf('/') + 1);
  if (output === STANDARD_OUTPUT) return '';
  return (isHttp(output) ? addressOf(output).name : last).toLowerCase();
}

function unsupportedExtension(end: string): DecantError {
  const message = `Decant does not write ${end} files yet; choose another extension, or a format with -O`;
  return new DecantError('usage', message, { code: 'format-not-made', fields: { extension: end } });
}
