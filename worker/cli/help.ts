// The help: all commands in short, or one of them with its operands, options, exit codes and examples.

import { OPENING, type Option, optionsOf } from './command-options.js';
import { type CommandEntry, commandEntry, exitCodesOf, isCommand, TOPICS, type TopicName } from './commands.js';

/** The width of a terminal. */
const WIDTH = 80;
/** Where the texts beside options and operands start. */
const COLUMN = 25;
/** Where the texts beside commands start. */
const COMMAND_COLUMN = 15;
/** Where the texts beside exit codes start. */
const CODE_COLUMN = 7;

/** Puts `words` into lines that start at `column`, beside `start`, which has a line to itself if it is long. */
function inLines(start: string, words: readonly string[], column: number): string[] {
  const indent = ' '.repeat(column);
  const lines = start.length <= column ? [start.padEnd(column)] : [start, indent];
  let isEmpty = true;
  for (const word of words) {
    const longer = lines.at(-1) + (isEmpty ? word : ` ${word}`);
    if (isEmpty || longer.length < WIDTH) lines.splice(-1, 1, longer);
    else lines.push(indent + word);
    isEmpty = false;
  }
  return lines.map((line) => line.trimEnd());
}

/** Breaks `text` into lines that start at `column`, beside `start`, which has a line to itself if it is long. */
export const wrapped = (start: string, text: string, column: number): string[] =>
  inLines(start, text.split(' '), column);

const written = ({ name, isOptional = false }: CommandEntry['operands'][number]): string =>
  isOptional ? `[${name}]` : name;

/** The arguments of the command `name`, as the usage shows them. */
export function usageOf(name: TopicName): string {
  const { usual, operands } = commandEntry(name);
  const options = isCommand(name) ? '[OPTIONS]' : '';
  return [name, options, usual, ...operands.map(written)].filter(Boolean).join(' ');
}

/** How options are written, with their texts: those with the same text are together. */
export function formsOf(options: readonly Option<unknown>[]): [forms: string[], text: string][] {
  const byText = new Map<string, string[]>();
  for (const [form, text] of options.flatMap(({ help }) => Object.entries(help)))
    byText.set(text, [...(byText.get(text) ?? []), form]);
  return [...byText].map(([text, forms]) => [forms, text]);
}

const OF_IMAGE = new Set<Option<unknown>>(Object.values(OPENING));

/** The options of the command `name`, in groups with titles. */
function optionGroups(name: TopicName): [title: string, options: Option<unknown>[]][] {
  if (!isCommand(name)) return [];
  const options = optionsOf(name);
  return [
    ['Options for opening the image', options.filter((option) => OF_IMAGE.has(option))],
    ['Other options', options.filter((option) => !OF_IMAGE.has(option))],
  ];
}

const row = (start: string, text: string, column = COLUMN): string[] => wrapped(`  ${start} `, text, column);

/** The short help. */
export function generalHelp(): string[] {
  return [
    'usage: decant COMMAND [OPTIONS] [OPERANDS]',
    '',
    'Reads and converts virtual disk images.',
    '',
    'Commands:',
    ...TOPICS.flatMap((name) => row(name, commandEntry(name).summary, COMMAND_COLUMN)),
    '',
    "'decant help COMMAND' explains a command; 'decant --version' prints the version.",
  ];
}

/** The help of the command `name`. */
export function helpOf(name: TopicName): string[] {
  const { summary, operands, examples } = commandEntry(name);
  const section = (title: string, rows: string[]): string[] => ['', `${title}:`, ...rows];
  const start = `usage: decant ${name} `;
  // Text in brackets is not wrapped.
  const parts =
    usageOf(name)
      .slice(name.length)
      .match(/\[[^\]]*\]|\S+/g) ?? [];
  return [
    ...inLines(start, parts, start.length),
    '',
    `${summary[0]!.toUpperCase()}${summary.slice(1)}.`,
    '',
    ...operands.flatMap(({ name, text }) => row(name, text)),
    ...optionGroups(name).flatMap(([title, options]) =>
      section(
        title,
        formsOf(options).flatMap(([forms, text]) => [
          ...forms.slice(0, -1).map((form) => `  ${form}`),
          ...row(forms.at(-1)!, text),
        ]),
      ),
    ),
    ...section(
      'Exit codes',
      exitCodesOf(name).flatMap(([code, meaning]) => row(String(code), meaning, CODE_COLUMN)),
    ),
    ...section(
      'Examples',
      examples.flatMap(([line, text]) => [`  decant ${line}`, ...wrapped('', text, COLUMN)]),
    ),
  ];
}
