// Completions for bash, from version 3.2 on, which macOS has.

import { TOPICS, type TopicName } from '../commands.js';
import { type Candidate, GENERAL, operandsFor, optionsFor, quoted } from './candidates.js';

const words = (names: readonly string[]): string => `words=${quoted(names.join(' '))}`;

const formsOf = ({ short, long }: Candidate): string[] => [...(short ? [`-${short}`] : []), `--${long}`];

const hasWords = ({ value }: Candidate): boolean => typeof value === 'object' && value.length > 0;

/** A case for values of `options`. */
const valueCase = (options: Candidate[], action: string): string => {
  const patterns = options.flatMap(formsOf).map((form) => `${form}:*`);
  return `        ${patterns.join('|')}) ${action} ;;`;
};

function commandCase(name: TopicName): string[] {
  const options = optionsFor(name);
  const withValue = options.filter(({ value, isOptional }) => value !== undefined && !isOptional);
  const others = withValue.filter((option) => !hasWords(option));
  const [operand] = operandsFor(name);
  return [
    `    *:${name})`,
    '      case $option:$current in',
    ...withValue.filter(hasWords).map((option) => valueCase([option], words(option.value as string[]))),
    ...(others.length > 0 ? [valueCase(others, ':')] : []),
    `        *:-*) ${words(options.flatMap(formsOf))} ;;`,
    ...(typeof operand === 'object' ? [`        *) ${words(operand)} ;;`] : []),
    '      esac',
    '      ;;',
  ];
}

export const bash = (): string[] =>
  `# Completions of decant for bash: source <(decant completions bash)
_decant() {
  local words=
  local current=\${COMP_WORDS[COMP_CWORD]} option=\${COMP_WORDS[COMP_CWORD-1]}
  # bash splits --option=value at the equals sign.
  if [ "$current" = = ]; then
    current=
  elif [ "$option" = = ]; then
    option=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  case $COMP_CWORD:\${COMP_WORDS[1]} in
    1:-*) ${words(GENERAL)} ;;
    1:*) ${words(TOPICS)} ;;
${TOPICS.flatMap(commandCase).join('\n')}
  esac
  # Without words, bash completes names of files.
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -o bashdefault -F _decant decant`.split('\n');
