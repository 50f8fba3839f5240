// Parses the command line.

import { parseArgs } from 'node:util';
import { localPath } from '../api/node-path.js';
import { DecantError } from '../errors/errors.js';
import { definedOf } from '../errors/values.js';
import { isHttp } from '../http/address.js';
import { spoolFolder } from '../targets/node/spool-file.js';
import {
  ALL_DISKS,
  ALL_OPTIONS,
  COMPARING,
  isPageBlob,
  OPENING,
  type Option,
  OTHERS,
  oneOf,
  optionsOf,
  readOption,
  type UploadMethod,
  usage,
  type Values,
  valuesOf,
} from './command-options.js';
import {
  type CommandName,
  commandEntry,
  isCommand,
  isTopic,
  SHELLS,
  type Shell,
  TOPICS,
  type TopicName,
} from './commands.js';
import { didYouMean } from './did-you-mean.js';
import { COMPRESS, outputFormat } from './formats.js';
import { filesOf, shownInput } from './operands.js';
import { type ImageHeaders, passwordFile } from './secret-files.js';
import { type Read, requireOneFromInput, STANDARD_OUTPUT } from './standard-streams.js';
import { listed } from './wording.js';
import { noSuchCommand, wrongCommand } from './wrong-command.js';

/** Options for opening the image, common to all commands. */
export type OpenArguments = Omit<Values<typeof OPENING>, 'headerFile'> & { headers: ImageHeaders | undefined };

type OtherValues = Values<typeof OTHERS>;

/** The options of `convert` that decide together. */
type Combined =
  | 'json'
  | 'report'
  | 'tree'
  | 'requestedFormat'
  | 'lists'
  | 'sparseness'
  | 'noConfirm'
  | 'method'
  | Hardware;

/** The options of `convert` that are options of the output format, too. */
type Hardware = 'cpus' | 'machineMemory' | 'firmware' | 'os';

/** The arguments of a command that reads one image. */
export interface ImageArguments {
  image: string;
  opening: OpenArguments;
}

interface CompareArguments
  extends ImageArguments,
    Pick<OtherValues, 'json' | 'spool' | 'progress' | 'quiet' | 'workers'> {
  /** The second image. */
  other: ImageArguments;
  strict: boolean;
  /** Whether all ranges are listed. */
  all: boolean;
}

interface MeasureArguments extends ImageArguments, Pick<OtherValues, 'json' | 'spool'> {
  format: string;
  formatOptions: Record<string, string>;
}

interface ConvertArguments extends ImageArguments, Omit<OtherValues, Combined> {
  output: string;
  format: string;
  formatOptions: Record<string, string>;
  /** Whether the files of a machine are separate files in one folder. */
  isLoose: boolean;
  /** Remarks about the arguments, as sentences. */
  notes: string[];
  /** By default as the place needs it. */
  sparse: boolean | undefined;
  /** The method of an upload by one request. */
  method: UploadMethod;
  /** Whether an upload by one request is confirmed. */
  confirm: boolean;
}

/** How the arguments of each command are parsed, once its operands are known to be there. */
const PARSERS = {
  info: parserOf('info', 'json', 'report'),
  map: parserOf('map', 'json', 'spool'),
  compare: compareArguments,
  measure: measureArguments,
  digest: parserOf('digest', 'tree', 'json', 'progress', 'quiet', 'workers', 'spool'),
  check: parserOf('check', 'json', 'spool', 'progress', 'quiet'),
  convert: convertArguments,
} satisfies Record<CommandName, (found: Parsed) => object>;

/** A command that opens an image, with its arguments. */
export type CommandOf<Name extends CommandName> = { name: Name } & ReturnType<(typeof PARSERS)[Name]>;
export type ImageCommand = { [Name in CommandName]: CommandOf<Name> }[CommandName];

export type Command =
  | { name: 'version' }
  /** Of all commands, or of one. */
  | { name: 'help'; topic?: TopicName }
  | { name: 'completions'; shell: Shell }
  | { name: 'options'; format: string }
  | ImageCommand;

const HELP = ['-h', '--help'];
const VERSION = ['-V', '--version'];

/** Parses the arguments, one or more. Fails with `usage` if they are wrong. */
export function parse([name, ...args]: readonly [string, ...string[]]): Command {
  if (HELP.includes(name)) return { name: 'help' };
  if (VERSION.includes(name)) return { name: 'version' };
  if (!isTopic(name)) throw wrongCommand([name, ...args]);
  if (!isCommand(name)) return textCommand(name, args);
  const found = parsed(name, args);
  if (!found) return { name: 'help', topic: name };
  if (asksForOptions(found.values)) return optionsRequest(found);
  return { name, ...PARSERS[name](found) } as ImageCommand;
}

function textCommand(name: 'completions' | 'help', args: string[]): Command {
  if (args.some((argument) => HELP.includes(argument))) return { name: 'help', topic: name };
  requireOperands(name, args);
  const [operand] = args;
  if (name === 'completions') return { name, shell: oneOf(name, SHELLS, operand)! };
  if (operand === undefined) return { name };
  if (!isTopic(operand)) throw noSuchCommand(operand, `the commands are ${TOPICS.join(', ')}`);
  return { name, topic: operand };
}

/** Fails with `usage` if the command `name` does not take these operands. */
function requireOperands(name: TopicName, given: string[]): void {
  const { operands } = commandEntry(name);
  // An empty name is an unset shell variable.
  const missing = operands.find(({ isOptional }, at) => !isOptional && localPath(given[at] ?? '') === '');
  if (missing) throw usage(`The ${missing.noun} is missing`);
  const surplus = given[operands.length];
  if (surplus !== undefined) throw usage(`Unexpected argument '${shownInput(surplus)}'`);
}

/**
 * Joins each value to its option: `--name=value`. Otherwise `parseArgs` refuses values that begin with `-`, which other programs
 * accept. The value of `spool` is optional, so it is never the next argument.
 */
function joined(args: string[], command: CommandName): string[] {
  const options = optionsOf(command);
  const result: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const [argument, value] = [args[at]!, args[at + 1]];
    if (argument === '--') return [...result, ...args.slice(at)];
    const taker = options.find(({ name, type, short }) => {
      return type === 'string' && (argument === `--${name}` || argument === `-${short}`);
    });
    if (taker === OTHERS.spool) {
      result.push(`${argument}=${spoolFolder()}`);
    } else if (taker && value !== undefined) {
      result.push(`--${taker.name}=${value}`);
      at += 1;
    } else {
      result.push(argument);
    }
  }
  return result;
}

/** Unsupported options of qemu-img, and advice; for one command, or all. */
const ADVICE: [start: string, advice: string, command?: CommandName][] = [
  ['-r', 'Decant repairs nothing: use qemu-img check -r on a copy of the image', 'check'],
  ['-l', 'select the snapshot with --snapshot ID|NAME'],
  ['--backing-chain', 'omit it: info always lists the image and the layers passed by --with'],
];

/** Fails with `usage` if `args` of `command`, as {@link joined} returns them, have an unsupported option of qemu-img. */
function refuseQemuOptions(command: CommandName, args: string[]): void {
  for (const argument of args) {
    if (argument === '--') return;
    const isMeant = ([start, , only]: (typeof ADVICE)[number]) =>
      argument.startsWith(start) && (only ?? command) === command;
    const [option, advice] = ADVICE.find(isMeant) ?? [];
    if (option) throw usage(`There is no option ${option}; ${advice}`);
  }
}

/** Fails with `usage` if `args`, as {@link joined} returns them, have an option that `command` does not take. */
function refuseUnknownOptions(args: string[], command: CommandName): void {
  const options = optionsOf(command);
  const end = args.indexOf('--');
  for (const argument of end < 0 ? args : args.slice(0, end)) {
    const unknown = unknownIn(argument, options);
    if (unknown === undefined) continue;
    const name = unknown.replace(/^--?/, '');
    // Perhaps a dash is missing.
    const typed = argument.slice(argument.startsWith('--') ? 2 : 1).split('=')[0]!;
    const guess = didYouMean(
      typed,
      options.map(({ name }) => name),
      '--',
    );
    const others = ALL_OPTIONS.filter((option) => (unknown.startsWith('--') ? option.name : option.short) === name);
    const takers = [...new Set(others.flatMap(({ commands = [] }) => commands))];
    if (takers.length > 0 && (typed === name || guess === undefined))
      throw usage(`${unknown} is an option of ${listed(takers, 'and')}, not of ${command}`);
    const message = `Unknown option '${unknown}'`;
    throw guess === undefined ? usage(message) : new DecantError('usage', `${message}; ${guess}`);
  }
}

/** Returns the first option in `argument` that is not one of `options`, with its dashes. */
function unknownIn(argument: string, options: Option<unknown>[]): string | undefined {
  if (!argument.startsWith('-') || argument === '-') return undefined;
  if (argument.startsWith('--')) {
    const [long] = argument.split('=');
    return options.some(({ name }) => `--${name}` === long) ? undefined : long;
  }
  for (const letter of argument.slice(1)) {
    const option = options.find(({ short }) => short === letter);
    if (!option) return `-${letter}`;
    // The rest is its value.
    if (option.type === 'string') return undefined;
  }
  return undefined;
}

/** The arguments of a command. */
interface Parsed {
  values: Record<string, string | boolean | string[] | undefined>;
  positionals: string[];
}

/**
 * Parses the arguments of `command`, and checks its operands, unless its options need none. Fails with `usage` if they are wrong.
 * Returns `undefined` for `--help`.
 */
function parsed(command: CommandName, given: string[]): Parsed | undefined {
  const args = joined(given, command);
  refuseQemuOptions(command, args);
  refuseUnknownOptions(args, command);
  const options = optionsOf(command).map(({ name, type, multiple, short }) => [
    name,
    { type, multiple, ...(short === undefined ? {} : { short }) },
  ]);
  let found: Parsed;
  try {
    found = parseArgs({ args, options: Object.fromEntries(options), allowPositionals: true }) as Parsed;
  } catch (thrown) {
    throw usage((thrown as Error).message.split(/\.\s/)[0]!);
  }
  const { values, positionals } = found;
  if (values.help) return undefined;
  if (asksForOptions(values)) return found;
  requireOperands(command, positionals);
  return found;
}

/** The values of `-o` that request the list of options, as in qemu-img. */
const OPTIONS_HELP = ['help', '?'];

const asksForOptions = (values: Parsed['values']): boolean =>
  readOption(OTHERS.lists, values)
    .flatMap((list) => list.split(','))
    .some((option) => OPTIONS_HELP.includes(option));

const optionsRequest = ({ values, positionals }: Parsed): Command => ({
  name: 'options',
  format: outputFormat(positionals[1] ?? '', { requestedFormat: readOption(OTHERS.requestedFormat, values) }).format,
});

/** The options for opening `images`, the operands that are read. */
function openingOf({ values }: Parsed, images: string[]): OpenArguments {
  const { headerFile: file, ...opening } = valuesOf(OPENING, values);
  const files = [...images, ...filesOf(opening.companions)];
  return { ...opening, headers: file === undefined ? undefined : { file, url: files.find(isHttp) } };
}

/** The image and the options for opening it, for the command `name`, and for the second image `other` of `compare`. */
function imageArguments(found: Parsed, name: CommandName, ...other: string[]): ImageArguments {
  const image = localPath(found.positionals[0]!);
  const opening = openingOf(found, [image, ...other]);
  if (opening.disk === ALL_DISKS && name !== 'digest')
    throw usage(`--disk ${ALL_DISKS} is for convert and digest; ${name} takes one disk`);
  requireOneFromInput(readBy(image, opening));
  return { image, opening };
}

/** The files that are read to open `image`, except for its companions. */
const readBy = (image: string, { headers, passwordFiles }: OpenArguments): Read[] => [
  ['the image', image],
  ['the headers', headers?.file],
  ...passwordFiles.map(
    (argument, at): Read => [at === 0 ? 'the password' : 'the other password', passwordFile(argument).file],
  ),
];

/** The values of the options `names`. */
const othersOf = <Name extends keyof OtherValues>(names: Name[], values: Parsed['values']) =>
  Object.fromEntries(names.map((name) => [name, readOption<unknown>(OTHERS[name], values)])) as Pick<OtherValues, Name>;

/** Returns the parser of a command that takes one image and the options `names`. */
function parserOf<Name extends keyof OtherValues>(command: CommandName, ...names: Name[]) {
  return (found: Parsed): ImageArguments & Pick<OtherValues, Name> => ({
    ...imageArguments(found, command),
    ...othersOf(names, found.values),
  });
}

function compareArguments(found: Parsed): CompareArguments {
  const others = othersOf(['json', 'spool', 'progress', 'quiet', 'workers'], found.values);
  const { strict, all, ...second } = valuesOf(COMPARING, found.values);
  const other = localPath(found.positionals[1]!);
  const { image, opening } = imageArguments(found, 'compare', other);
  if (all && !others.json) throw usage('--all needs --output=json');
  if (second.secondDisk === ALL_DISKS) throw usage(`--second-disk takes one disk, not ${ALL_DISKS}`);
  requireOneFromInput([
    ...readBy(image, opening),
    ['the second image', other],
    ...second.secondPasswordFiles.map((argument): Read => ['the second password', passwordFile(argument).file]),
  ]);
  return {
    image,
    opening,
    other: { image: other, opening: secondOpening(opening, second) },
    ...{ strict, all, ...others },
  };
}

/** The options for opening the second image of a comparison: those of the first one, except for what `second` states. */
function secondOpening(
  opening: OpenArguments,
  second: Pick<Values<typeof COMPARING>, 'secondFormat' | 'secondDisk' | 'secondSnapshot' | 'secondPasswordFiles'>,
): OpenArguments {
  const { secondFormat: format, secondDisk: disk, secondSnapshot: snapshot, secondPasswordFiles } = second;
  const passwordFiles = secondPasswordFiles.length > 0 ? secondPasswordFiles : opening.passwordFiles;
  return { ...opening, format, disk, snapshot, passwordFiles, unpack: false };
}

function measureArguments(found: Parsed): MeasureArguments {
  const { values } = found;
  const requestedFormat = readOption(OTHERS.requestedFormat, values);
  const { format, formatOptions } = outputFormat('', {
    requestedFormat,
    options: optionList(readOption(OTHERS.lists, values)),
  });
  return {
    ...imageArguments(found, 'measure'),
    format,
    formatOptions,
    ...othersOf(['json', 'spool'], values),
  };
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

function convertArguments(found: Parsed): ConvertArguments {
  const {
    requestedFormat,
    lists,
    sparseness,
    method,
    noConfirm,
    json: _,
    report: _report,
    tree: _tree,
    ...others
  } = valuesOf(OTHERS, found.values);
  const { cpus, machineMemory: memory, firmware, os, ...values } = others;
  const { bmap, digest, place, upload, uploadHeaderFile, existing, resume, sync } = values;
  const [image, output] = found.positionals.map(localPath) as [string, string];
  const isUpload = isHttp(output);
  const kind = isUpload ? 'a server' : 'standard output';
  const isFile = !isUpload && output !== STANDARD_OUTPUT;
  if (bmap !== undefined && !isFile) throw usage(`--bmap needs a file, not ${kind}`);
  if (sync && !isFile) throw usage(`--sync needs a file, not ${kind}`);
  if (resume && !isFile && upload !== 's3') throw usage(`--resume needs a file or --upload s3, not ${kind}`);
  if (digest && resume)
    throw usage('--digest does not work with --resume, since a resumed conversion does not read the whole disk');
  if (existing && resume) throw usage('--resume does not work with -n, which writes in place');
  const [stated, named] = [optionList(lists), definedOf({ cpus, memory, firmware, os })];
  const other = Object.entries({ ...named, ...(values.compress && { [COMPRESS]: 'on' }) }).find(
    ([name, value]) => (stated[name] ?? value) !== value,
  );
  if (other) {
    const [name] = other;
    throw usage(`${name === COMPRESS ? '-c' : `--${name}`} and -o ${name} state one option; omit one of them`);
  }
  const {
    format,
    formatOptions,
    note,
    isLoose = false,
  } = outputFormat(output, {
    requestedFormat,
    options: { ...stated, ...named },
    place,
  });
  if (isLoose && (existing || resume || sync)) {
    throw usage('-n, --resume and --sync need one file as the output, not the files of an OVF');
  }
  if (existing && !isFile && !(isUpload && isPageBlob(upload, format, formatOptions))) {
    const other = isUpload ? 'another upload' : kind;
    throw usage(`-n needs a file, a block device or a page blob (--upload azure -O vpc), not ${other}`);
  }
  if (!isUpload && (upload ?? uploadHeaderFile) !== undefined) {
    throw usage('--upload and --upload-header-file need an http or https URL as the output');
  }
  const isOneRequest = isUpload && upload === undefined;
  if (!isOneRequest && (method !== undefined || noConfirm)) {
    throw usage('--method and --no-confirm need an http or https URL as the output, without --upload');
  }
  const opening = openingOf(found, [image]);
  requireOneFromInput([...readBy(image, opening), ['the headers of the upload', uploadHeaderFile]]);
  return {
    image,
    output,
    opening,
    ...values,
    format,
    formatOptions,
    isLoose,
    notes: [note, sparseness.note].filter((note) => note !== undefined),
    sparse: sparseness.sparse,
    method: method ?? 'PUT',
    confirm: !noConfirm,
  };
}
