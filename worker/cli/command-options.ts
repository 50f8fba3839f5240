// The options of the command: each is named once, with its value, its help and how it is read.

import { localPath } from '../api/node-path.js';
import { MAX_WORKERS, MIN_WORKERS } from '../api/options.js';
import { DecantError } from '../errors/errors.js';
import { PLACES } from '../places/registry.js';
import type { CommandName, Taken } from './commands.js';
import { mistyped } from './did-you-mean.js';
import { INPUT_FORMATS, inputFormat, MACHINES, OUTPUT_FORMATS } from './formats.js';
import { listed } from './wording.js';

/** Wrong arguments that the help of the command explains. */
export class WrongArguments extends DecantError {
  constructor(message: string) {
    super('usage', message);
  }
}

export const usage = (message: string) => new WrongArguments(message);

/** Values of `--firmware`. */
const FIRMWARE = ['bios', 'efi'] as const;

/** Values of `--output`. */
const STYLES = ['human', 'json'] as const;

/** Values of `--upload`; without it, the output is one PUT. */
const UPLOAD_PROTOCOLS = ['s3', 'gcs', 'tus', 'azure'] as const;
export type UploadProtocolName = (typeof UPLOAD_PROTOCOLS)[number];

/** Values of `--method`. */
const UPLOAD_METHODS = ['PUT', 'POST'] as const;
export type UploadMethod = (typeof UPLOAD_METHODS)[number];

/** Whether an upload goes to a page blob: Azure imports a fixed VHD from one, and no other format. */
export const isPageBlob = (
  upload: UploadProtocolName | undefined,
  format: string,
  { subformat }: Record<string, string>,
): boolean => upload === 'azure' && format === 'vpc' && subformat !== 'dynamic';

/** As `parseArgs` returns it: `undefined` if the option is missing. */
type ParsedValue = string | string[] | boolean | undefined;

export interface Option<T> {
  /** Its name, without the dashes. */
  name: string;
  short?: string;
  type: 'string' | 'boolean';
  multiple: boolean;
  /** The commands that take it; by default all. */
  commands?: CommandName[];
  /** The values that completions offer. */
  takes?: Taken;
  /** Texts of the help, by how the option is written. */
  help: Record<string, string>;
  /** Returns the value for a command. Fails with `usage` if it is wrong. */
  read(given: ParsedValue): T;
}

/** The properties of an option besides its name and its help. */
type Details = Pick<Option<unknown>, 'short' | 'commands' | 'takes'>;

/** The help, as one text of an option that is written in the usual way, or by how it is written. */
type Help = string | Record<string, string>;

const helpBy = (help: Help, name: string, value: string, short?: string): Record<string, string> => {
  const written = short === undefined ? `--${name}` : `-${short}, --${name}`;
  return typeof help === 'string' ? { [`${written}${value && ` ${value}`}`]: help } : help;
};

const flag = (name: string, help: Help, details: Details = {}): Option<boolean> => ({
  ...{ name, type: 'boolean', multiple: false, ...details },
  help: helpBy(help, name, '', details.short),
  read: (given) => given === true,
});

/** An option with a value, which `read` checks and converts. */
const withValue = <T>(
  name: string,
  value: string,
  help: Help,
  read: (value: string | undefined) => T,
  details: Details = {},
): Option<T> => ({
  ...{ name, type: 'string', multiple: false, ...details },
  help: helpBy(help, name, value, details.short),
  read: (given) => read(given as string | undefined),
});

/** An option that can be repeated. */
const repeated = (name: string, value: string, help: Help, details: Details = {}): Option<string[]> => ({
  ...{ name, type: 'string', multiple: true, ...details },
  help: helpBy(help, name, value, details.short),
  read: (given = []) => given as string[],
});

const asIs = (value: string | undefined) => value;

/** The value of `--disk` for all disks. */
export const ALL_DISKS = 'all';

/** Parses `--disk`. A name that is a number means that number. */
function diskOf(value: string | undefined): string | number | undefined {
  const number = Number(value);
  return /^[1-9][0-9]*$/.test(value ?? '') && Number.isSafeInteger(number) ? number : value;
}

/** Returns the one of `known` that `value` is. Fails with `usage` if it is none of them. */
export function oneOf<T extends string>(option: string, known: readonly T[], value: string | undefined): T | undefined {
  const found = known.find((name) => name === value);
  if (value === undefined || found !== undefined) return found;
  throw mistyped(`${option} takes ${listed(known, 'or')}, not '${value}'`, value, known);
}

function workerCount(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const count = Number(value);
  if (/^[0-9]+$/.test(value) && count >= MIN_WORKERS && count <= MAX_WORKERS) return count;
  throw usage(`-m takes a whole number from ${MIN_WORKERS} to ${MAX_WORKERS}, not '${value}'`);
}

const PLACE_NAMES = PLACES.map(({ name }) => name);

function placeOf(value: string | undefined): string | undefined {
  if (value === undefined || PLACE_NAMES.includes(value)) return value;
  throw mistyped(`There is no place '${value}'`, value, PLACE_NAMES, `the places are ${PLACE_NAMES.join(', ')}`);
}

function folderOf(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  // An unset shell variable.
  if (localPath(value) === '') throw usage('--spool= takes a folder');
  return localPath(value);
}

const SIZE_UNITS = 'bkmgtpe';
/** The size of zeros from which on they become holes, in bytes. */
const HOLE = 4096;

/** Parses the size in bytes that `option` takes, as qemu-img does: a number, perhaps with a unit. */
function sizeOf(value: string, option: string): number {
  const [, number, unit = 'b'] = /^(\d+(?:\.\d+)?)([bkmgtpe])?$/.exec(value.toLowerCase()) ?? [];
  if (number === undefined) throw usage(`${option} takes a size, not '${value}'`);
  return Number(number) * 1024 ** SIZE_UNITS.indexOf(unit);
}

/** Parses `--size`. */
function diskSize(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const size = Math.ceil(sizeOf(value, '--size'));
  if (size > 0 && Number.isSafeInteger(size)) return size;
  throw usage(`--size takes a size from 1 byte to less than 8 PiB, not '${value}'`);
}

/** Parses `-S`. */
function sparseness(value: string | undefined): { sparse?: boolean; note?: string } {
  if (value === undefined) return {};
  const size = sizeOf(value, '-S');
  if (size === 0) return { sparse: false };
  if (size === HOLE) return { sparse: true };
  return { sparse: true, note: `-S ${value} is ignored: zeros become holes from 4 KiB on` };
}

/** Options for opening the image, by their names in {@link OpenArguments}. */
export const OPENING = {
  format: withValue(
    'format',
    'FORMAT',
    `format of the image: ${listed(INPUT_FORMATS, 'or')}; required for raw, except in archives and compressed files`,
    (value) => value && inputFormat(value),
    { short: 'f', takes: INPUT_FORMATS },
  ),
  unpack: flag(
    'unpack',
    'with -f raw: make a disk of the content of the archive or compressed file; otherwise the bytes of the file itself are the disk',
  ),
  /** FILE or NAME=FILE. */
  companions: repeated(
    'with',
    '',
    {
      '--with FILE':
        'pass a backing file, parent, extent or data file of the image; repeatable. No file is ever opened because an image names it',
      '--with NAME=FILE': 'pass FILE for the name NAME in the image',
    },
    { takes: 'file' },
  ),
  /** A number or a name in an archive, or {@link ALL_DISKS}. */
  disk: withValue(
    'disk',
    'N|NAME',
    `use this disk of an archive, such as an OVA, or of a virtual machine (${MACHINES.join(', ')} or its folder); info lists them. In convert, all makes a file of each disk in the folder OUTPUT, or one OVA (the default for a machine); in digest, it prints the digest of each`,
    diskOf,
  ),
  snapshot: withValue(
    'snapshot',
    'ID|NAME',
    'use a snapshot, of the image or the machine, instead of the active disk',
    asIs,
  ),
  /** FILE or NAME=FILE. */
  passwordFiles: repeated(
    'password-file',
    '',
    {
      '--password-file FILE':
        'read the password of all encrypted layers from FILE, without its last newline; - is standard input',
      '--password-file NAME=FILE': 'read the password of the layer or disk NAME from FILE; repeatable',
    },
    { takes: 'file' },
  ),
  headerFile: withValue(
    'header-file',
    'FILE',
    'send the headers in FILE, one NAME: VALUE on each line, to the server of the first URL; - is standard input',
    asIs,
    { takes: 'file' },
  ),
  assumePassword: flag('assume-password', 'continue if an old encryption method cannot verify the password'),
  salvage: flag('salvage', 'convert a damaged image: lost ranges become zeros and are listed; the exit code is 3'),
  forceParent: flag('force-parent', 'read a parent that does not have the identity that its child records'),
  checkManifest: flag(
    'check-manifest',
    'check an OVA against its manifest, even if that downloads or decompresses the whole archive; uncompressed local files are always checked',
    { commands: ['digest', 'convert'] },
  ),
};

/** All other options, by their names in a command. */
export const OTHERS = {
  json: withValue(
    'output',
    STYLES.join('|'),
    'print text or JSON (default: human)',
    (value) => oneOf('--output', STYLES, value) === 'json',
    { commands: ['info', 'map', 'compare', 'measure', 'digest', 'check'], takes: STYLES },
  ),
  report: flag('report', 'print facts for a bug report, without private data: no names, paths, hosts or IDs', {
    commands: ['info'],
  }),
  tree: flag(
    'tree',
    'print the digest of fs-verity (SHA-256, blocks of 4 KiB, no salt) instead: empty parts of the disk take no time',
    { commands: ['digest'] },
  ),
  requestedFormat: withValue(
    'output-format',
    'FORMAT',
    `format of the output: ${listed(OUTPUT_FORMATS, 'or')} (default: by the extension of OUTPUT, otherwise raw). ovf: the files of an OVA beside OUTPUT, NAME.ovf`,
    asIs,
    { short: 'O', commands: ['convert', 'measure'], takes: OUTPUT_FORMATS },
  ),
  place: withValue(
    'for',
    'PLACE',
    `make the best format for the place where the disk will run, and print the commands that come next. PLACE is one of: ${PLACE_NAMES.join(', ')}`,
    placeOf,
    { commands: ['convert'], takes: PLACE_NAMES },
  ),
  lists: repeated(
    'options',
    'NAME=VALUE[,...]',
    'options of the output format, as in qemu-img; repeatable. NAME alone is NAME=on; help lists the options',
    { short: 'o', commands: ['convert', 'measure'] },
  ),
  size: withValue(
    'size',
    'SIZE',
    'make the disk larger: zeros are added at the end. SIZE is in bytes, or has a unit, as in qemu-img: 40G',
    diskSize,
    { commands: ['convert'] },
  ),
  bmap: withValue(
    'bmap',
    'FILE',
    'write the bmap of a raw OUTPUT to FILE: bmaptool then copies only the blocks with data to a device',
    (value) => value && localPath(value),
    { commands: ['convert'], takes: 'file' },
  ),
  fixGpt: flag(
    'fix-gpt',
    'move the backup GPT to the end of the disk, after --size or other growth; the default where the output format rounds the size up',
    { commands: ['convert'] },
  ),
  cpus: withValue(
    'cpus',
    'N',
    'number of CPUs of the machine (-O ova; default: as in its configuration, otherwise 2)',
    asIs,
    { commands: ['convert'] },
  ),
  machineMemory: withValue(
    'memory',
    'SIZE',
    'memory of the machine: a number of MiB, or with a unit, such as 4G (-O ova; default: as in its configuration, otherwise 2G)',
    asIs,
    { commands: ['convert'] },
  ),
  firmware: withValue(
    'firmware',
    FIRMWARE.join('|'),
    'firmware of the machine (-O ova; default: as in its configuration, otherwise as the disk shows)',
    (value) => oneOf('--firmware', FIRMWARE, value),
    { commands: ['convert'], takes: FIRMWARE },
  ),
  os: withValue(
    'os',
    'NAME',
    'operating system of the machine, such as ubuntu or windows10; -O ova -o help lists them (-O ova; default: as in its configuration, otherwise as the disk shows)',
    asIs,
    { commands: ['convert'] },
  ),
  digest: flag(
    'digest',
    'print the SHA-256 of the disk as it is in IMAGE, to standard error if OUTPUT is standard output; not with --resume',
    { commands: ['convert'] },
  ),
  progress: flag('progress', 'show progress; the default on a terminal', {
    short: 'p',
    commands: ['digest', 'convert', 'compare', 'check'],
  }),
  quiet: flag('quiet', 'print nothing, except digests; compare ends at the first difference', {
    short: 'q',
    commands: ['digest', 'convert', 'compare', 'check'],
  }),
  workers: withValue('workers', 'WORKERS', 'number of workers (default: one for each core, at most 8)', workerCount, {
    short: 'm',
    commands: ['digest', 'convert', 'compare'],
  }),
  existing: flag(
    'existing',
    'write in place into an existing OUTPUT: a device, a file that is large enough, or a page blob (--upload azure -O vpc), such as that of a managed disk',
    { short: 'n', commands: ['convert'] },
  ),
  sparseness: withValue('sparse-size', '0', 'leave no holes in OUTPUT: zeros take space on the disk', sparseness, {
    short: 'S',
    commands: ['convert'],
  }),
  compress: flag('compress', 'compress qcow2; other output formats must be compressed anyway', {
    short: 'c',
    commands: ['convert'],
  }),
  twoPass: flag(
    'two-pass',
    'read the image twice, for a compressed qcow2 or an OVA to standard output or a server that takes bytes in order only',
    { commands: ['convert'] },
  ),
  spool: withValue(
    'spool',
    '',
    {
      '--spool[=DIR]':
        'make the output in a temporary file in DIR (default: $TMPDIR, otherwise /var/tmp) and then send it. An image that must be unpacked first is unpacked in DIR (default: the folder of OUTPUT). A raw disk that comes in a stream is stored in DIR if the output states its size first, such as qcow2',
    },
    folderOf,
    { commands: ['map', 'digest', 'convert', 'compare', 'measure', 'check'], takes: 'folder' },
  ),
  upload: withValue(
    'upload',
    UPLOAD_PROTOCOLS.join('|'),
    'upload protocol of OUTPUT (default: one PUT); keys come from the environment, such as AWS_ACCESS_KEY_ID and AZURE_STORAGE_SAS_TOKEN',
    (value) => oneOf('--upload', UPLOAD_PROTOCOLS, value),
    { commands: ['convert'], takes: UPLOAD_PROTOCOLS },
  ),
  uploadHeaderFile: withValue(
    'upload-header-file',
    'FILE',
    'send the headers in FILE to the server of OUTPUT, as with --header-file',
    asIs,
    { commands: ['convert'], takes: 'file' },
  ),
  method: withValue(
    'method',
    UPLOAD_METHODS.join('|'),
    'method of an upload by one request (default: PUT)',
    (value) => oneOf('--method', UPLOAD_METHODS, value),
    { commands: ['convert'], takes: UPLOAD_METHODS },
  ),
  noConfirm: flag('no-confirm', 'accept the response to the upload without checking the object', {
    commands: ['convert'],
  }),
  resume: flag('resume', 'keep progress when interrupted, and continue from it the next time', {
    commands: ['convert'],
  }),
  verify: flag('verify', 'read the output back and compare it with the disk before it gets its name', {
    commands: ['convert'],
  }),
  sync: flag('sync', 'fsync the file and its folder before exiting', { commands: ['convert'] }),
};

/** The options of `compare`: how the second image is opened, where that differs from the first one, and what is compared. */
export const COMPARING = {
  secondFormat: withValue('second-format', 'FORMAT', 'format of IMAGE2', (value) => value && inputFormat(value), {
    short: 'F',
    commands: ['compare'],
    takes: INPUT_FORMATS,
  }),
  secondDisk: withValue('second-disk', 'N|NAME', 'as --disk, for IMAGE2', diskOf, { commands: ['compare'] }),
  secondSnapshot: withValue('second-snapshot', 'ID|NAME', 'as --snapshot, for IMAGE2', asIs, { commands: ['compare'] }),
  secondPasswordFiles: repeated(
    'second-password-file',
    'FILE',
    'as --password-file, for IMAGE2 (default: the passwords of --password-file)',
    { commands: ['compare'], takes: 'file' },
  ),
  strict: flag('strict', 'also compare sizes, and how ranges are allocated and stored', {
    short: 's',
    commands: ['compare'],
  }),
  all: flag('all', 'list all ranges that differ; needs --output=json', { commands: ['compare'] }),
};

const IGNORED = 'accepted for compatibility with qemu-img, without effect';

/** Options without a value in a command. */
const WITHOUT_VALUE = {
  targetCache: withValue('target-cache', 'CACHE', IGNORED, asIs, { short: 't', commands: ['convert'] }),
  sourceCache: withValue('source-cache', 'CACHE', IGNORED, asIs, { short: 'T', commands: ['convert', 'compare'] }),
  forceShare: flag('force-share', IGNORED, { short: 'U' }),
  anyOrder: flag('any-order', IGNORED, { short: 'W', commands: ['convert'] }),
  help: flag('help', 'print this help', { short: 'h' }),
};

type Table = Record<string, Option<unknown>>;

/** The values of the options in a table. */
export type Values<T extends Table> = { [Name in keyof T]: ReturnType<T[Name]['read']> };

/** Returns the value of `option`. Fails with `usage` if it is wrong. */
export const readOption = <T>(option: Option<T>, given: Record<string, ParsedValue>): T =>
  option.read(given[option.name]);

/** Returns the values of the options in `table`, as a command takes them. Fails with `usage` if one is wrong. */
export const valuesOf = <T extends Table>(table: T, given: Record<string, ParsedValue>): Values<T> =>
  Object.fromEntries(Object.entries(table).map(([field, option]) => [field, readOption(option, given)])) as Values<T>;

/** All options, those for opening the image first. */
export const ALL_OPTIONS: readonly Option<unknown>[] = Object.values<Option<unknown>>({
  ...OPENING,
  ...OTHERS,
  ...COMPARING,
  ...WITHOUT_VALUE,
});

/** The options that `command` takes. */
export const optionsOf = (command: CommandName): Option<unknown>[] =>
  ALL_OPTIONS.filter(({ commands }) => commands === undefined || commands.includes(command));
