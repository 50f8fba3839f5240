// The command line, read.

import { parseArgs } from 'node:util';
import { DecantError } from '../errors.js';

export const USAGE = `usage: decant info    [-f FORMAT] [--output=human|json] IMAGE
       decant map     [-f FORMAT] [--output=human|json] IMAGE
       decant convert [-f FORMAT] [-O raw] [-p] [-q] [-m WORKERS] IMAGE OUTPUT

  -f FORMAT    the image's format; raw has to be said, it is never guessed
  -O raw       the output's format
  -p           show progress; a terminal gets it by itself
  -q           show nothing
  -m WORKERS   how many workers decode (default: one for each core, at most 8)
  --help, --version`;

export type Command =
  | { name: 'help' | 'version' }
  | { name: 'info' | 'map'; image: string; format: string | undefined; json: boolean }
  | {
      name: 'convert';
      image: string;
      output: string;
      format: string | undefined;
      progress: boolean;
      quiet: boolean;
      workers: number | undefined;
    };

const usage = (message: string) => new DecantError('usage', `${message}; see decant --help`);

const COMMON = { format: { type: 'string', short: 'f' } } as const;
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

function listing(name: 'info' | 'map', args: string[]): Command {
  const { values, positionals } = read(() => parseArgs({ args, options: LISTING, allowPositionals: true }), ['image']);
  if (values.output !== 'human' && values.output !== 'json')
    throw usage(`--output is human or json, not '${values.output}'`);
  return { name, image: positionals[0]!, format: values.format, json: values.output === 'json' };
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
    format: values.format,
    progress: values.progress,
    quiet: values.quiet,
    workers,
  };
}
