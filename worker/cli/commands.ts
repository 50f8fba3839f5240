// The commands: each is named once, with its operands, its exit codes and the texts of its help. `arguments.ts` parses their
// arguments, `command.ts` runs them, and `command-options.ts` says which options they take. Help, completions, the man page and
// the tables in docs/command.md are made from these entries.

import { CONTAINERS } from '../public/registry.js';

/** The values of an option or an operand: these names, or any file or folder. */
export type Taken = readonly string[] | 'file' | 'folder';

interface Operand {
  /** The operand in the usage: IMAGE. */
  name: string;
  /** The operand in sentences, after an article. */
  noun: string;
  text: string;
  /** The values that completions offer; by default files. */
  takes?: Taken;
  isOptional?: boolean;
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
  /**
   * The exit code if the reader of standard output, such as `head`, has ended; not 0 if 0 is a statement about the image. Without one, the
   * command goes on: it has more to do than to print.
   */
  unread: number | undefined;
  /** Whether it decodes the disk: workers are started for it while the files are opened. */
  decodes: boolean;
  /** Arguments after `decant`, and what they do. */
  examples: readonly (readonly [line: string, text: string])[];
}

export const EXIT_USAGE = 2;
// The exit codes of `check`, as of `qemu-img check`.
export const EXIT_UNCHECKED = 1;
export const EXIT_CORRUPT = 2;
export const EXIT_LEAKS = 3;
/** The command is complete, but ranges of the disk were lost. */
export const EXIT_DAMAGED = 3;
/** The exit codes after signals that interrupt the command: those of a shell for a program that a signal has ended. */
export const EXIT_INTERRUPTED = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
/** A signal that interrupts the command. */
export type Interrupt = keyof typeof EXIT_INTERRUPTED;

/** The exit codes of most commands. */
const USUAL = {
  failed: 1,
  wrongUsage: EXIT_USAGE,
  unread: 0,
  exitCodes: { 0: 'done', 1: 'failed', [EXIT_USAGE]: 'wrong usage' },
};

/** The names of containers that may come as a stream. */
export const STREAMS = CONTAINERS.filter(({ isReadInOrder }) => isReadInOrder).map(({ name }) => name);

const IMAGE: Operand = {
  name: 'IMAGE',
  noun: 'image',
  text: `a file, an http or https URL, or - for standard input: a file, or a stream of ${STREAMS.join(', ')} or a raw disk`,
};

const OTHER: Operand = {
  name: 'IMAGE2',
  noun: 'second image',
  text: 'the image that is compared with IMAGE: a file, an http or https URL, or - for standard input',
};

const OUTPUT: Operand = {
  name: 'OUTPUT',
  noun: 'output',
  text: 'a file, an http or https URL, or - for standard output',
};

export const COMMANDS = {
  info: {
    ...USUAL,
    summary: 'describe an image: its format, size, snapshots and warnings',
    operands: [IMAGE],
    usual: '[--output=human|json]',
    decodes: false,
    examples: [
      ['info disk.qcow2', 'describes the image'],
      ['info --output=json vm.ova', 'the same for programs'],
      ['info --report disk.qcow2', 'facts for a bug report, without private data'],
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
  compare: {
    failed: 2,
    wrongUsage: EXIT_USAGE,
    unread: 2,
    exitCodes: {
      0: 'the disks are the same',
      1: 'they differ',
      [EXIT_USAGE]: 'failed, or wrong usage',
      [EXIT_DAMAGED]: 'no difference was found, but ranges of the disks were lost (--salvage)',
    },
    summary: 'compare the disks of two images, as qemu-img compare does',
    operands: [IMAGE, OTHER],
    usual: '[-F FORMAT] [-s] [-p] [-q] [--output=human|json]',
    decodes: true,
    examples: [
      ['compare disk.vmdk disk.qcow2', 'whether the guest reads the same bytes'],
      ['compare --all --output=json a.qcow2 b.qcow2', 'lists all ranges that differ'],
    ],
  },
  measure: {
    ...USUAL,
    summary: 'say how large an output would be, as qemu-img measure does',
    operands: [IMAGE],
    usual: '[-O FORMAT] [-o NAME=VALUE] [--output=human|json]',
    decodes: false,
    examples: [['measure -O qcow2 disk.vmdk', 'measures the output of convert -O qcow2 disk.vmdk']],
  },
  digest: {
    ...USUAL,
    exitCodes: {
      ...USUAL.exitCodes,
      [EXIT_DAMAGED]: 'ranges of the disk were lost (--salvage), and digested as zeros',
    },
    summary: 'print the SHA-256 of a disk, which is the same in each format',
    operands: [IMAGE],
    usual: '[--tree] [--output=human|json] [-p] [-q] [-m WORKERS]',
    decodes: true,
    examples: [
      ['digest disk.qcow2', 'what sha256sum prints for the raw disk'],
      ['digest --tree disk.qcow2', 'what fsverity digest prints for the raw disk'],
    ],
  },
  check: {
    summary: "check an image's tables, as qemu-img check does; repairs nothing",
    operands: [IMAGE],
    usual: '[--output=human|json] [-p] [-q]',
    exitCodes: {
      0: 'no errors were found',
      [EXIT_UNCHECKED]: 'the image could not be checked, or wrong usage',
      [EXIT_CORRUPT]: 'the image is corrupt',
      [EXIT_LEAKS]: 'nothing uses some clusters of the file; no harm to data',
    },
    failed: EXIT_UNCHECKED,
    wrongUsage: EXIT_UNCHECKED,
    unread: EXIT_UNCHECKED,
    decodes: false,
    examples: [
      ['check disk.qcow2', 'checks the tables and the reference counts'],
      ['check --output=json disk.vhdx', 'the same for programs'],
    ],
  },
  convert: {
    ...USUAL,
    unread: undefined,
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

/** The name of a command that opens images. */
export type CommandName = keyof typeof COMMANDS;

export const isCommand = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name);

/** Values of the operand of `completions`. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The commands that print texts about the others. */
export const TEXT_COMMANDS = {
  completions: {
    ...USUAL,
    summary: 'print the script that completes the arguments in a shell',
    operands: [{ name: 'SHELL', noun: 'shell', text: 'bash, zsh or fish', takes: SHELLS }],
    usual: '',
    decodes: false,
    examples: [
      ['completions bash', 'for ~/.bashrc: source <(decant completions bash)'],
      ['completions zsh', 'for ~/.zshrc, after compinit: source <(decant completions zsh)'],
      ['completions fish', 'for ~/.config/fish/config.fish: decant completions fish | source'],
    ],
  },
  help: {
    ...USUAL,
    summary: 'explain a command: its options, exit codes and examples',
    operands: [
      {
        name: 'COMMAND',
        noun: 'command',
        text: 'one of the commands; without it, all are listed',
        takes: [...Object.keys(COMMANDS), 'completions'],
        isOptional: true,
      },
    ],
    usual: '',
    decodes: false,
    examples: [['help convert', 'the same as decant convert --help']],
  },
} satisfies Record<string, CommandEntry>;

/** The name of any command. */
export type TopicName = CommandName | keyof typeof TEXT_COMMANDS;

const ALL: Record<TopicName, CommandEntry> = { ...COMMANDS, ...TEXT_COMMANDS };

/** The names of all commands. */
export const TOPICS = Object.keys(ALL) as readonly TopicName[];

export const isTopic = (name: string): name is TopicName => Object.hasOwn(ALL, name);

/** The entry of the command `name`. */
export const commandEntry = (name: TopicName): CommandEntry => ALL[name];

/** The exit codes of the command `name`, with their meanings, also after an interruption. */
export const exitCodesOf = (name: TopicName): [code: number, meaning: string][] => [
  ...Object.entries(commandEntry(name).exitCodes).map(([code, meaning]): [number, string] => [Number(code), meaning]),
  ...Object.entries(EXIT_INTERRUPTED).map(([signal, code]): [number, string] => [code, `interrupted by ${signal}`]),
];
