// The commands: each is named once, with its operands, its exit codes and the texts of its help. `arguments.ts` parses their
// arguments, `command.ts` runs them, and `command-options.ts` says which options they take.

import { CONTAINERS } from '../public/registry.js';

interface Operand {
  /** In the usage. */
  name: string;
  /** In sentences, after an article. */
  noun: string;
  text: string;
}

export interface CommandEntry {
  /** One line, without a full stop. */
  summary: string;
  operands: readonly Operand[];
  /** Options that the usage shows, because most people need them. */
  usual: string;
  /** The meaning of each exit code, except that of an interruption. */
  exitCodes: Readonly<Record<number, string>>;
  /** The exit code of a failure. */
  failed: number;
  /** The exit code of wrong usage. */
  wrongUsage: number;
  /** Whether it decodes the disk: workers are started for it while the files are opened. */
  decodes: boolean;
  /** Arguments after `decant`, and what they do. */
  examples: readonly (readonly [command: string, text: string])[];
}

export const EXIT_USAGE = 2;
/** The command is complete, but ranges of the disk were lost. */
export const EXIT_DAMAGED = 3;
/** A shell's code for a program ended by SIGINT. */
export const EXIT_INTERRUPTED = 130;

/** The exit codes of most commands. */
const USUAL = {
  failed: 1,
  wrongUsage: EXIT_USAGE,
  exitCodes: { 0: 'done', 1: 'failed', [EXIT_USAGE]: 'wrong usage' },
};

/** Lists `names` with `last` before the last one. */
export const listed = (names: readonly string[], last: string): string =>
  `${names.slice(0, -1).join(', ')} ${last} ${names.at(-1)}`;

/** The names of containers that may come as a stream. */
export const STREAMS = CONTAINERS.filter(({ isReadInOrder }) => isReadInOrder).map(({ name }) => name);

const IMAGE: Operand = {
  name: 'IMAGE',
  noun: 'image',
  text: `a file, an http or https URL, or - for standard input: a file, or a stream of ${STREAMS.join(', ')} or a raw disk`,
};

const OUTPUT: Operand = {
  name: 'OUTPUT',
  noun: 'output',
  text: 'a file, an http or https URL, or - for standard output',
};

export const COMMANDS = {
  info: {
    ...USUAL,
    summary: 'describe an image: its format, size, snapshots, parents and warnings',
    operands: [IMAGE],
    usual: '[--output=human|json]',
    decodes: false,
    examples: [
      ['info disk.qcow2', 'describes the image'],
      ['info --output=json vm.ova', 'the same for programs'],
    ],
  },
  map: {
    ...USUAL,
    exitCodes: { ...USUAL.exitCodes, [EXIT_DAMAGED]: 'ranges of the disk cannot be read' },
    summary: 'list where the data of a disk lies, as qemu-img map does',
    operands: [IMAGE],
    usual: '[--output=human|json]',
    decodes: false,
    examples: [['map --output=json disk.qcow2', 'lists data, zeros and holes']],
  },
  convert: {
    ...USUAL,
    exitCodes: {
      ...USUAL.exitCodes,
      [EXIT_DAMAGED]: 'converted with losses (--salvage), or with a checksum that does not match',
    },
    summary: 'convert an image to another format',
    operands: [IMAGE, OUTPUT],
    usual: '[-O FORMAT] [-o NAME=VALUE] [-p] [-q] [-m WORKERS]',
    decodes: true,
    examples: [
      ['convert -p disk.qcow2 disk.raw', 'shows progress'],
      ['convert disk.vmdk disk.vhdx', 'the extension states the format'],
      ['convert --for proxmox disk.vmdk disk.qcow2', 'the best format there, and the next command'],
    ],
  },
} satisfies Record<string, CommandEntry>;

export type CommandName = keyof typeof COMMANDS;

export const isCommand = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name);

/** The entry of the command `name`. */
export const commandEntry = (name: CommandName): CommandEntry => COMMANDS[name];
