// The words to complete, for the scripts of all shells.

import { optionsOf } from '../command-options.js';
import { commandEntry, isCommand, type Taken, type TopicName } from '../commands.js';

export interface Candidate {
  long: string;
  short: string | undefined;
  /** The values; `undefined` for an option without a value. */
  value: Taken | undefined;
  /** Whether the value is only taken after an equals sign. */
  isOptional: boolean;
  isRepeatable: boolean;
  text: string;
}

/** The first clause of `text`, without a list of the values, which are offered. */
const brief = (text: string, isList: boolean): string => text.split(isList ? /[:;(]|\. / : /[;(]|\. /)[0]!.trimEnd();

/** The options of the command `name`. */
export const optionsFor = (name: TopicName): Candidate[] =>
  isCommand(name)
    ? optionsOf(name).map(({ name: long, short, type, takes = [], multiple, help }) => ({
        long,
        short,
        value: type === 'boolean' ? undefined : takes,
        isOptional: Object.keys(help).some((form) => form.includes('[=')),
        isRepeatable: multiple,
        text: brief(Object.values(help)[0]!, typeof takes === 'object' && takes.length > 0),
      }))
    : [{ long: 'help', short: 'h', value: undefined, isOptional: false, isRepeatable: false, text: 'print this help' }];

/** The possible operands of the command `name`. */
export const operandsFor = (name: TopicName): Taken[] => commandEntry(name).operands.map(({ takes = 'file' }) => takes);

/** Options instead of a command. */
export const GENERAL = ['--help', '--version'];

/** Quotes `text` for bash and zsh. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
