// Completions for fish.

import { commandEntry, type Taken, TOPICS, type TopicName } from '../commands.js';
import { type Candidate, GENERAL, operandsFor, optionsFor } from './candidates.js';

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;

/** The options of `complete` for a value. */
function valueArguments(value: Taken | undefined): string[] {
  if (value === undefined) return [];
  if (value === 'file') return ['-r', '-F'];
  if (value === 'folder') return ['-x', '-a', quoted('(__fish_complete_directories)')];
  return ['-x', ...(value.length === 0 ? [] : ['-a', quoted(value.join(' '))])];
}

const optionLine = (condition: string, option: Candidate): string => {
  const { long, short, value, isOptional, text } = option;
  const forms = [...(short === undefined ? [] : ['-s', short]), '-l', long];
  // fish knows no optional values.
  const taken = valueArguments(isOptional ? undefined : value);
  return ['complete -c decant', condition, ...forms, ...taken, '-d', quoted(text)].join(' ');
};

function commandLines(name: TopicName): string[] {
  const condition = `-n ${quoted(`__decant_runs ${name}`)}`;
  const [operand] = operandsFor(name);
  const operands = typeof operand === 'object' ? `-a ${quoted(operand.join(' '))}` : '-F';
  return [
    `complete -c decant -n __decant_needs_command -a ${name} -d ${quoted(commandEntry(name).summary)}`,
    ...optionsFor(name).map((option) => optionLine(condition, option)),
    `complete -c decant ${condition} ${operands}`,
  ];
}

export const fish = (): string[] => [
  '# Completions of decant for fish: decant completions fish | source',
  'function __decant_needs_command',
  '  test (count (commandline -opc)) -eq 1',
  'end',
  'function __decant_runs',
  '  set -l words (commandline -opc)',
  '  test (count $words) -gt 1; and test $words[2] = $argv[1]',
  'end',
  'complete -c decant -e',
  'complete -c decant -f',
  ...GENERAL.map((option) => `complete -c decant -n __decant_needs_command -l ${option.slice(2)}`),
  ...TOPICS.flatMap(commandLines),
];
