// Parses the command line.

import { parseArgs } from 'node:util';
import { localPath } from '../api/node-path.js';
import { MAX_WORKERS, MIN_WORKERS } from '../api/options.js';
import { DecantError } from '../errors/errors.js';
import { isHttp } from '../http/http-url.js';
import { PLACES } from '../places/registry.js';
import { spoolFolder } from '../targets/node/spool-file.js';
import { ALL_DISKS } from './disk-list.js';
import { formatName, outputFormat } from './format-option.js';
import { shownInput } from './remote-inputs.js';
import { STANDARD_OUTPUT } from './standard-output.js';
import {
  isPageBlob,
  UPLOAD_METHODS,
  UPLOAD_PROTOCOLS,
  type UploadMethod,
  type UploadProtocolName,
} from './upload-output.js';

/** The names of all places, in lines of the help. */
const PLACE_NAMES = PLACES.map(({ name }) => name)
  .join(', ')
  .replaceAll(/(.{50,65},) /g, `$1\n${' '.repeat(25)}`);

export const USAGE = `usage: decant info    [OPTIONS] [--output=human|json] IMAGE
       decant map     [OPTIONS] [--output=human|json] IMAGE
       decant convert [OPTIONS] [-O FORMAT] [-o NAME=VALUE] [-p] [-q] [-m WORKERS] IMAGE OUTPUT
                      (IMAGE is a file, an http or https URL, or - for standard input: a file,
                      or a stream of gzip, xz, zstd, bzip2, tar or a raw disk. OUTPUT is a
                      file, an http or https URL, or - for standard output)

  -f FORMAT              format of the image; required for raw, except inside gzip,
                         xz, zstd, bzip2 or tar
  --unpack               with -f raw: make a disk of the content of the archive or compressed
                         file; otherwise the bytes of the file itself are the disk
  --with FILE            pass a backing file, parent, extent or data file of the image;
                         repeatable. No file is ever opened because an image names it
  --with NAME=FILE       pass FILE for the name NAME in the image
  --disk N|NAME          use this disk of an archive that has several, such as an OVA, or of a
                         virtual machine (.vmx, .vbox, .ovf or its folder); info lists them. In
                         convert, all makes a file of each in the folder OUTPUT
  --snapshot ID|NAME     use a snapshot, of the image or the machine, instead of the active disk
  --password-file FILE   read the password of all encrypted layers from FILE, without its last
                         newline; - is standard input
  --password-file NAME=FILE
                         read the password of the layer or disk NAME from FILE; repeatable
  --header-file FILE     send the headers in FILE, one NAME: VALUE on each line, to the server
                         of the first URL; - is standard input
  --assume-password      continue if an old encryption method cannot verify the password
  --salvage              convert a damaged image: lost ranges become zeros and are listed; the
                         exit code is 3
  --force-parent         read a parent that does not have the identity that its child records

  --check-manifest       check an OVA on a server against its manifest, even if that downloads
                         the whole archive; local files are always checked
  -O FORMAT              format of the output, as in qemu-img (default: by the extension of
                         OUTPUT, otherwise raw); an unknown one lists all formats
  --for PLACE            make the best format for the place where the disk will run, and print the
                         commands that come next. PLACE is one of:
                         ${PLACE_NAMES}
  -o NAME=VALUE[,...]    options of the output format, as in qemu-img; repeatable.
                         NAME alone is NAME=on; help lists the options
  -p                     show progress; the default on a terminal
  -q                     print nothing
  -m WORKERS             number of workers (default: one for each core, at most 8)
  -n                     write in place into an existing OUTPUT: a device, a file that is large
                         enough, or a page blob (--upload azure -O vpc), such as that of a
                         managed disk
  -S 0                   write zeros instead of leaving holes
  -c                     compress qcow2; other output formats must be compressed anyway
  -t, -T CACHE, -U, -W   accepted for compatibility with qemu-img, without effect
  --two-pass             read the image twice, for a compressed qcow2 to standard output or a
                         server that takes bytes in order only
  --spool[=DIR]          make the output in a temporary file in DIR (default: $TMPDIR, otherwise
                         /var/tmp) and then send it: the other way for such a qcow2. An image
                         that must be unpacked first is unpacked in DIR too, also by map (default:
                         the folder of OUTPUT). A raw disk that comes in a stream is stored in DIR
                         if the output states its size first, such as qcow2
  --upload s3|gcs|tus|azure
                         upload protocol of OUTPUT (default: one PUT); keys come from the
                         environment, such as AWS_ACCESS_KEY_ID and AZURE_STORAGE_SAS_TOKEN
  --upload-header-file FILE
                         send the headers in FILE to the server of OUTPUT, as with --header-file
  --method PUT|POST      method of an upload by one request (default: PUT)
  --no-confirm           accept the response to that request without a look at the object
  --resume               keep progress when interrupted, and continue from it the next time
  --sync                 fsync the file and its folder before exiting
  --help, --version`;

/** Options for opening the image, common to all commands. */
export interface OpenArguments {
  format: string | undefined;
  companions: string[];
  /** A number or a name in an archive, or {@link ALL_DISKS}. */
  disk: string | number | undefined;
  snapshot: string | undefined;
  /** FILE or NAME=FILE. */
  passwordFiles: string[];
  headerFile: string | undefined;
  assumePassword: boolean;
  salvage: boolean;
  forceParent: boolean;
  checkManifest: boolean;
  unpack: boolean;
}

/** A command that opens an image. */
export type ImageCommand = Extract<Command, { name: 'info' | 'map' | 'convert' }>;

export type Command =
  | { name: 'help' | 'version' }
  | { name: 'options'; format: string }
  | { name: 'info'; image: string; opening: OpenArguments; json: boolean }
  | { name: 'map'; image: string; opening: OpenArguments; json: boolean; spool: string | undefined }
  | {
      name: 'convert';
      image: string;
      output: string;
      upload: UploadProtocolName | undefined;
      uploadHeaderFile: string | undefined;
      /** The method of an upload by one request. */
      method: UploadMethod;
      /** Whether an upload by one request is confirmed. */
      confirm: boolean;
      opening: OpenArguments;
      format: string;
      formatOptions: Record<string, string>;
      place: string | undefined;
      /** Remarks about the arguments, as sentences. */
      notes: string[];
      /** Requires a compressed format. */
      compress: boolean;
      twoPass: boolean;
      /** The folder for a temporary file. */
      spool: string | undefined;
      existing: boolean;
      sparse: boolean;
      progress: boolean;
      quiet: boolean;
      workers: number | undefined;
      sync: boolean;
      resume: boolean;
    };

const usage = (message: string) => new DecantError('usage', `${message}; see decant --help`);

const COMMON = {
  format: { type: 'string', short: 'f' },
  with: { type: 'string', multiple: true, default: [] as string[] },
  disk: { type: 'string' },
  snapshot: { type: 'string' },
  'password-file': { type: 'string', multiple: true, default: [] as string[] },
  'header-file': { type: 'string' },
  'assume-password': { type: 'boolean', default: false },
  salvage: { type: 'boolean', default: false },
  unpack: { type: 'boolean', default: false },
  'force-parent': { type: 'boolean', default: false },
  'force-share': { type: 'boolean', short: 'U', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;
const LISTING = { ...COMMON, output: { type: 'string', default: 'human' } } as const;
const MAP = { ...LISTING, spool: { type: 'string' } } as const;
const CONVERT = {
  ...COMMON,
  'check-manifest': { type: 'boolean', default: false },
  'output-format': { type: 'string', short: 'O' },
  for: { type: 'string' },
  options: { type: 'string', short: 'o', multiple: true, default: [] as string[] },
  progress: { type: 'boolean', short: 'p', default: false },
  quiet: { type: 'boolean', short: 'q', default: false },
  workers: { type: 'string', short: 'm' },
  upload: { type: 'string' },
  'upload-header-file': { type: 'string' },
  method: { type: 'string' },
  'no-confirm': { type: 'boolean', default: false },
  sync: { type: 'boolean', default: false },
  resume: { type: 'boolean', default: false },
  existing: { type: 'boolean', short: 'n', default: false },
  compress: { type: 'boolean', short: 'c', default: false },
  'two-pass': { type: 'boolean', default: false },
  spool: { type: 'string' },
  'sparse-size': { type: 'string', short: 'S' },
  // For compatibility with qemu-img; without effect.
  'target-cache': { type: 'string', short: 't' },
  'source-cache': { type: 'string', short: 'T' },
  'any-order': { type: 'boolean', short: 'W', default: false },
} as const;

/** Parses the arguments. Fails with `usage` if they are wrong. */
export function parse(argv: string[]): Command {
  const [name, ...args] = argv;
  switch (name) {
    case undefined:
      throw usage('A command is missing');
    case 'info':
    case 'map':
      return listing(name, args);
    case 'convert':
      return conversion(args);
    case '-h':
    case '--help':
    case 'help':
      return { name: 'help' };
    case '-V':
    case '--version':
      return { name: 'version' };
    default:
      throw usage(`There is no command '${shownInput(name)}'`);
  }
}

const SPOOL = '--spool';

interface OptionType {
  type: 'string' | 'boolean';
  short?: string;
}

/**
 * Joins each value to its option: `--name=value`. Otherwise `parseArgs` refuses values that begin with `-`, which other programs
 * accept. The value of `--spool` is optional, so it is never the next argument.
 */
function joined(args: string[], options: Record<string, OptionType>): string[] {
  const result: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const [argument, value] = [args[at]!, args[at + 1]];
    if (argument === '--') return [...result, ...args.slice(at)];
    if (argument === SPOOL && 'spool' in options) {
      result.push(`${SPOOL}=${spoolFolder()}`);
      continue;
    }
    const taker = Object.entries(options).find(([name, { type, short }]) => {
      return type === 'string' && (argument === `--${name}` || argument === `-${short}`);
    });
    if (taker && value !== undefined) {
      result.push(`--${taker[0]}=${value}`);
      at += 1;
    } else {
      result.push(argument);
    }
  }
  return result;
}

/** Unsupported options of qemu-img, and advice. */
const ADVICE: [start: string, advice: string][] = [
  ['-l', 'select the snapshot with --snapshot ID|NAME'],
  ['--backing-chain', 'omit it: info always lists the image and the layers passed by --with'],
];

/** Fails with `usage` if `args`, as {@link joined} returns them, have an unsupported option of qemu-img. */
function refuseQemuOptions(args: string[]): void {
  for (const argument of args) {
    if (argument === '--') return;
    const [option, advice] = ADVICE.find(([start]) => argument.startsWith(start)) ?? [];
    if (option) throw usage(`There is no option ${option}; ${advice}`);
  }
}

interface ParsedArguments {
  values: { help: boolean };
  positionals: string[];
}

/**
 * Runs `parseArgs` and checks the operands, unless `needsNone`. Fails with `usage` if they are wrong. Returns `undefined` for
 * `--help`.
 */
function parseOperands<T extends ParsedArguments>(
  args: string[],
  parseArguments: (args: string[]) => T,
  operands: string[],
  needsNone: (parsed: T) => boolean = () => false,
): T | undefined {
  refuseQemuOptions(args);
  let parsed: T;
  try {
    parsed = parseArguments(args);
  } catch (thrown) {
    throw usage((thrown as Error).message.split(/\.\s/)[0]!);
  }
  if (parsed.values.help) return undefined;
  if (needsNone(parsed)) return parsed;
  // An empty name is an unset shell variable.
  const missing = operands.find((_, at) => localPath(parsed.positionals[at] ?? '') === '');
  if (missing) throw usage(`The ${missing} is missing`);
  const surplus = parsed.positionals[operands.length];
  if (surplus !== undefined) throw usage(`Unexpected argument '${shownInput(surplus)}'`);
  return parsed;
}

interface CommonValues {
  format?: string | undefined;
  with: string[];
  disk?: string | undefined;
  snapshot?: string | undefined;
  'password-file': string[];
  'header-file'?: string | undefined;
  'assume-password': boolean;
  salvage: boolean;
  'force-parent': boolean;
  'check-manifest'?: boolean;
  unpack: boolean;
}

/** Parses `--disk`. A name that is a number means that number. */
function diskOf(value: string | undefined): string | number | undefined {
  const number = Number(value);
  return /^[1-9][0-9]*$/.test(value ?? '') && Number.isSafeInteger(number) ? number : value;
}

const openingOf = (values: CommonValues): OpenArguments => ({
  format: values.format === undefined ? undefined : formatName(values.format),
  companions: values.with,
  disk: diskOf(values.disk),
  snapshot: values.snapshot,
  passwordFiles: values['password-file'],
  headerFile: values['header-file'],
  assumePassword: values['assume-password'],
  salvage: values.salvage,
  forceParent: values['force-parent'],
  checkManifest: values['check-manifest'] ?? false,
  unpack: values.unpack,
});

function listing(name: 'info' | 'map', args: string[]): Command {
  const options = (name === 'map' ? MAP : LISTING) as typeof MAP;
  const parsed = parseOperands(joined(args, options), (args) => parseArgs({ args, options, allowPositionals: true }), [
    'image',
  ]);
  if (!parsed) return { name: 'help' };
  const { values, positionals } = parsed;
  if (values.output !== 'human' && values.output !== 'json')
    throw usage(`--output takes human or json, not '${values.output}'`);
  if (values.disk === ALL_DISKS) throw usage(`--disk ${ALL_DISKS} is for convert; ${name} takes one disk`);
  const listed = { image: localPath(positionals[0]!), opening: openingOf(values), json: values.output === 'json' };
  return name === 'map' ? { name, ...listed, spool: spoolOf(values.spool) } : { name, ...listed };
}

/** Parses lists of NAME=VALUE, as in qemu-img; NAME alone is NAME=on. The last value of a name wins. */
function optionList(lists: string[]): Record<string, string> {
  const pairs = lists.flatMap((list) => list.split(','));
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at === 0 || pair === '') throw usage(`'-o ${pair}' is not NAME=VALUE`);
      return at < 0 ? [pair, 'on'] : [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** The values of `-o` that request the list of options, as in qemu-img. */
const OPTIONS_HELP = ['help', '?'];

const asksForOptions = (lists: string[]): boolean =>
  lists.flatMap((list) => list.split(',')).some((option) => OPTIONS_HELP.includes(option));

function workerCount(value: string): number {
  const count = Number(value);
  if (/^[0-9]+$/.test(value) && count >= MIN_WORKERS && count <= MAX_WORKERS) return count;
  throw usage(`-m takes a whole number from ${MIN_WORKERS} to ${MAX_WORKERS}, not '${value}'`);
}

function uploadOf(value: string | undefined): UploadProtocolName | undefined {
  const known = UPLOAD_PROTOCOLS.find((name) => name === value);
  if (value === undefined || known) return known;
  throw usage(`--upload takes ${UPLOAD_PROTOCOLS.join(', ')}, not '${value}'`);
}

function methodOf(value = 'PUT'): UploadMethod {
  const known = UPLOAD_METHODS.find((name) => name === value);
  if (known) return known;
  throw usage(`--method takes ${UPLOAD_METHODS.join(' or ')}, not '${value}'`);
}

function spoolOf(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  // An unset shell variable.
  if (localPath(value) === '') throw usage(`${SPOOL}= takes a folder`);
  return localPath(value);
}

const SIZE_UNITS = 'bkmgtpe';
/** The size of zeros from which on they become holes, in bytes. */
const HOLE = 4096;

/** Parses `-S`. */
function sparseness(value: string | undefined): { sparse: boolean; note?: string } {
  if (value === undefined) return { sparse: true };
  const [, number, unit = 'b'] = /^(\d+(?:\.\d+)?)([bkmgtpe])?$/.exec(value.toLowerCase()) ?? [];
  if (number === undefined) throw usage(`-S takes a size, not '${value}'`);
  const size = Number(number) * 1024 ** SIZE_UNITS.indexOf(unit);
  if (size === 0) return { sparse: false };
  if (size === HOLE) return { sparse: true };
  return { sparse: true, note: `-S ${value} is ignored: zeros become holes from 4 KiB on` };
}

function conversion(args: string[]): Command {
  const parsed = parseOperands(
    joined(args, CONVERT),
    (args) => parseArgs({ args, options: CONVERT, allowPositionals: true }),
    ['image', 'output'],
    ({ values }) => asksForOptions(values.options),
  );
  if (!parsed) return { name: 'help' };
  const { values, positionals } = parsed;
  if (asksForOptions(values.options)) {
    return { name: 'options', format: outputFormat(positionals[1] ?? '', { asked: values['output-format'] }).format };
  }
  const workers = values.workers === undefined ? undefined : workerCount(values.workers);
  const [image, output] = positionals.map(localPath) as [string, string];
  const isUpload = isHttp(output);
  const upload = uploadOf(values.upload);
  const kind = isUpload ? 'a server' : 'standard output';
  const isFile = !isUpload && output !== STANDARD_OUTPUT;
  if (values.sync && !isFile) throw usage(`--sync needs a file, not ${kind}`);
  if (values.resume && !isFile && upload !== 's3') throw usage(`--resume needs a file or --upload s3, not ${kind}`);
  const spool = spoolOf(values.spool);
  if (values.existing && values.resume) throw usage('--resume does not work with -n, which writes in place');
  const { 'output-format': asked, for: place } = values;
  const { format, formatOptions, note } = outputFormat(output, { asked, options: optionList(values.options), place });
  if (values.existing && !isFile && !(isUpload && isPageBlob(upload, format, formatOptions))) {
    const other = isUpload ? 'another upload' : kind;
    throw usage(`-n needs a file, a block device or a page blob (--upload azure -O vpc), not ${other}`);
  }
  const { sparse, note: sparseNote } = sparseness(values['sparse-size']);
  const headerFile = values['upload-header-file'];
  if (!isUpload && (upload ?? headerFile) !== undefined) {
    throw usage('--upload and --upload-header-file need an http or https URL as the output');
  }
  const method = methodOf(values.method);
  const isOneRequest = isUpload && upload === undefined;
  if (!isOneRequest && (values.method !== undefined || values['no-confirm'])) {
    throw usage('--method and --no-confirm need an http or https URL as the output, without --upload');
  }
  return {
    name: 'convert',
    image,
    output,
    upload,
    uploadHeaderFile: headerFile,
    method,
    confirm: !values['no-confirm'],
    opening: openingOf(values),
    format,
    formatOptions,
    place,
    notes: [note, sparseNote].filter((note) => note !== undefined),
    compress: values.compress,
    twoPass: values['two-pass'],
    spool,
    existing: values.existing,
    sparse,
    progress: values.progress,
    quiet: values.quiet,
    workers,
    sync: values.sync,
    resume: values.resume,
  };
}
