// The errors for unknown and missing commands.

import { existsSync } from 'node:fs';
import { DecantError } from '../errors/errors.js';
import { isAddress } from '../errors/secrets.js';
import { TOPICS } from './commands.js';
import { didYouMean, mistyped, nearest } from './did-you-mean.js';
import { shownInput } from './operands.js';

/** The commands of qemu-img that Decant does not have: why, and what to use. */
const QEMU_COMMANDS: Readonly<Record<string, string>> = {
  amend:
    'Decant changes no image; decant convert -o NAME=VALUE writes a copy with other options, and qemu-img amend changes the image itself',
  bench: 'Decant does not measure how fast a disk is read; use qemu-img bench',
  bitmap: 'Decant changes no image, and its outputs have no bitmaps; use qemu-img bitmap',
  commit:
    'Decant changes no image; decant convert --with BASE writes the disk of all layers to one new image, and qemu-img commit writes into the backing file',
  create:
    'Decant only converts existing images; use qemu-img create, or make an empty raw disk with truncate -s SIZE and convert it with decant convert -f raw',
  dd: 'Decant copies whole disks; use decant convert, with - as the output if dd is to cut a part out of it',
  rebase:
    'Decant changes no image; decant convert --with BASE writes the disk of all layers to one new image, and qemu-img rebase changes the backing file',
  resize:
    'Decant changes no image; decant convert --size SIZE writes a larger copy, and qemu-img resize changes the image itself',
  snapshot:
    'Decant changes no image; decant info lists its snapshots, decant convert --snapshot ID|NAME converts one, and qemu-img snapshot makes or deletes them',
};

/** The names of commands, also of those that Decant does not have. */
const COMMAND_NAMES = [...TOPICS, ...Object.keys(QEMU_COMMANDS)];

/** The error for the command `name`, which does not exist. */
export function noSuchCommand(name: string, otherwise: string): DecantError {
  const reason = Object.hasOwn(QEMU_COMMANDS, name) ? QEMU_COMMANDS[name] : undefined;
  if (reason !== undefined) return new DecantError('usage', `There is no command '${name}': ${reason}`);
  return mistyped(`There is no command '${shownInput(name)}'`, name, TOPICS, otherwise);
}

/** Whether `argument` is an option or an image, and no mistyped command. */
const isOperand = (argument: string): boolean =>
  argument.startsWith('-') ||
  /[./\\]/.test(argument) ||
  isAddress(argument) ||
  (existsSync(argument) && nearest(argument, COMMAND_NAMES).length === 0);

/** Characters that need no quotes in a shell. */
const PLAIN = /^[\w./:@%+=,-]+$/;

const quoted = (argument: string): string => {
  const shown = shownInput(argument);
  return PLAIN.test(shown) ? shown : `'${shown.replaceAll("'", String.raw`'\''`)}'`;
};

/** The options that need no command. */
const GENERAL = ['help', 'version'];

/** The error for `argv`, which begins with no command. */
export function wrongCommand(argv: readonly [string, ...string[]]): DecantError {
  const [name] = argv;
  if (!isOperand(name)) return noSuchCommand(name, 'see decant --help');
  const operands = argv.filter((argument) => argument === '-' || !argument.startsWith('-'));
  const line = ['decant', operands.length > 1 ? 'convert' : 'info', ...argv.map(quoted)].join(' ');
  const advice =
    operands.length > 0 ? `did you mean: ${line}` : (didYouMean(name.slice(2), GENERAL, '--') ?? 'see decant --help');
  return new DecantError('usage', `A command is missing before '${shownInput(name)}'; ${advice}`);
}
