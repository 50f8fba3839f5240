// The command line, read.

import { parseArgs } from 'node:util';
import { DecantError } from '../errors.js';

export const USAGE = `usage: decant info    [OPTIONS] [--output=human|json] IMAGE
       decant map     [OPTIONS] [--output=human|json] IMAGE
       decant convert [OPTIONS] [-O raw] [-p] [-q] [-m WORKERS] IMAGE OUTPUT

  -f FORMAT              the image's format; raw has to be said, it is never guessed
  --with FILE            a backing file or data file that the image names; repeatable.
                         No file is ever opened by a name that an image holds
  --with NAME=FILE       the same, for the name that the image has for it
  --snapshot ID|NAME     an internal snapshot instead of the active disk
  --password-file FILE   holds the password, without its last line end; - is standard input
  --assume-password      go on where an old kind of encryption cannot check the password
  --salvage              convert what is left of a damaged image: lost parts become zeros,
                         are listed, and the exit code is 3

  -O raw                 the output's format
  -p                     show progress; a terminal gets it by itself
  -q                     show nothing
  -m WORKERS             how many workers decode (default: one for each core, at most 8)
  --help, --version`;

/** What says how to open an image, the same for all commands. */
export interface Opening {
  format: string | undefined;
  companions: string[];
  snapshot: string | undefined;
  passwordFile: string | undefined;
  assumePassword: boolean;
  salvage: boolean;
}

export type Command =
  | { name: 'help' | 'version' }
  | { name: 'info' | 'map'; image: string; opening: Opening; json: boolean }
  | {
      name: 'convert';
      image: string;
      output: string;
      opening: Opening;
      progress: boolean;
      quiet: boolean;
      workers: number | undefined;
    };

const usage = (message: string) => new DecantError('usage', `${message}; see decant --help`);

const COMMON = {
  format: { type: 'string', short: 'f' },
  with: { type: 'string', multiple: true, default: [] as string[] },
  snapshot: { type: 'string' },
  'password-file': { type: 'string' },
  'assume-password': { type: 'boolean', default: false },
  salvage: { type: 'boolean', default: false },
} as const;
const LISTING = { ...COMMON, output: { type: 'string', default: 'human' } } as const;
const CONVERT = {
  ...COMMON,
  'output-format': { type: 'string', short: 'O', default: 'raw' },
  progress: { type: 'boolean', short: 'p', default: false },
  quiet: { type: 'boolean', short: 'q', default: false },
  workers: { type: 'string', short: 'm' },
} as const;

/** Reads the arguments behind the command's name. What cannot be understood is `usage`. */
export function parse(argv: string[]): Command {
  const [name, ...args] = argv;
  const options = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  if (options.some((option) => option === '-h' || option === '--help')) return { name: 'help' };
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
      throw usage(`There is no command '${name}'`);
  }
}

/** Runs `parseArgs` and checks that the operands are there; what it refuses is `usage`. */
function read<T extends { positionals: string[] }>(parseArguments: () => T, operands: string[]): T {
  let parsed: T;
  try {
    parsed = parseArguments();
  } catch (thrown) {
    throw usage((thrown as Error).message.split('. ')[0]!);
  }
  const missing = operands[parsed.positionals.length];
  if (missing) throw usage(`The ${missing} is missing`);
  const surplus = parsed.positionals[operands.length];
  if (surplus !== undefined) throw usage(`'${surplus}' is one argument too many`);
  return parsed;
}

interface CommonValues {
  format?: string | undefined;
  with: string[];
  snapshot?: string | undefined;
  'password-file'?: string | undefined;
  'assume-password': boolean;
  salvage: boolean;
}

const openingOf = (values: CommonValues): Opening => ({
  format: values.format,
  companions: values.with,
  snapshot: values.snapshot,
  passwordFile: values['password-file'],
  assumePassword: values['assume-password'],
  salvage: values.salvage,
});

function listing(name: 'info' | 'map', args: string[]): Command {
  const { values, positionals } = read(() => parseArgs({ args, options: LISTING, allowPositionals: true }), ['image']);
  if (values.output !== 'human' && values.output !== 'json')
    throw usage(`--output is human or json, not '${values.output}'`);
  return { name, image: positionals[0]!, opening: openingOf(values), json: values.output === 'json' };
}

function conversion(args: string[]): Command {
  const { values, positionals } = read(
    () => parseArgs({ args, options: CONVERT, allowPositionals: true }),
    ['image', 'output'],
  );
  if (values['output-format'] !== 'raw') throw usage(`The output format is raw, not '${values['output-format']}'`);
  const workers = values.workers === undefined ? undefined : Number(values.workers);
  return {
    name: 'convert',
    image: positionals[0]!,
    output: positionals[1]!,
    opening: openingOf(values),
    progress: values.progress,
    quiet: values.quiet,
    workers,
  };
}
