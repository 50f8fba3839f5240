// Completions for zsh.

import { commandEntry, type Taken, TOPICS, type TopicName } from '../commands.js';
import { type Candidate, GENERAL, operandsFor, optionsFor, quoted } from './candidates.js';

/** The action of `_arguments` that completes a value. */
function action(value: Taken): string {
  if (value === 'file') return '_files';
  if (value === 'folder') return '_files -/';
  // A space: there is a value, but nothing completes it.
  return value.length === 0 ? ' ' : `(${value.join(' ')})`;
}

/** A specification of `_arguments` for each form of an option. */
function specifications({ long, short, value, isOptional, isRepeatable, text }: Candidate): string[] {
  const forms = [...(short === undefined ? [] : [`-${short}`]), `--${long}`];
  const excluded = isRepeatable ? '*' : `(${forms.join(' ')})`;
  const about = `[${text.replaceAll(/[[\]:\\]/g, String.raw`\$&`)}]`;
  const suffix = value === undefined ? '' : `${isOptional ? '::' : ':'}value:${action(value)}`;
  return forms.map((form) => {
    const takes = value === undefined ? '' : !form.startsWith('--') ? '+' : isOptional ? '=-' : '=';
    return quoted(`${excluded}${form}${takes}${about}${suffix}`);
  });
}

function commandCase(name: TopicName): string[] {
  const operands = operandsFor(name).map((taken, at) => {
    const { noun } = commandEntry(name).operands[at]!;
    return quoted(`${at + 1}:${noun}:${action(taken)}`);
  });
  const all = [...optionsFor(name).flatMap(specifications), ...operands];
  return [
    `        ${name})`,
    '          _arguments -s \\',
    ...all.map((line, at) => `            ${line}${at + 1 < all.length ? ' \\' : ''}`),
    '          ;;',
  ];
}

const described = (name: TopicName): string => quoted(`${name}:${commandEntry(name).summary.replaceAll(':', '\\:')}`);

export const zsh = (): string[] =>
  `#compdef decant
# Completions of decant for zsh: source <(decant completions zsh), or a file _decant in a folder of fpath
_decant() {
  local context state state_descr line
  typeset -A opt_args
  local -a commands
  _arguments -C ${GENERAL.map(quoted).join(' ')} '1:command:->command' '*::argument:->arguments'
  case $state in
    command)
      commands=(${TOPICS.map(described).join(' ')})
      _describe command commands
      ;;
    arguments)
      case $words[1] in
${TOPICS.flatMap(commandCase).join('\n')}
      esac
      ;;
  esac
}
# As a file of fpath, this is the function; otherwise it is sourced.
if [ "\${funcstack[1]}" = _decant ]; then
  _decant "$@"
else
  compdef _decant decant
fi`.split('\n');
