// Real shells complete command lines by the scripts that `decant completions` prints. In the shells that edit lines in a terminal,
// a function in place of the command prints the arguments that it gets.

import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decant } from '../support/command.js';
import { expect, FULL, test } from '../support/node.js';

/** Lines, of which the last word is completed, and what it becomes. */
const LINES: [line: string, completed: string[]][] = [
  ['decant conv', ['convert']],
  ['decant ma', ['map']],
  ['decant help compl', ['completions']],
  ['decant completions ', ['bash', 'zsh', 'fish']],
  ['decant convert --sna', ['--snapshot']],
  ['decant info --as', ['--assume-password']],
  ['decant convert -O qc', ['qcow2']],
  ['decant convert --output-format vh', ['vhdx']],
  ['decant convert -p --for az', ['azure']],
  ['decant convert --for=az', ['--for=azure']],
  ['decant map --output=', ['--output=human', '--output=json']],
  ['decant convert --upload ', ['s3', 'gcs', 'tus', 'azure']],
  ['decant info disk', ['disk.qcow2']],
  ['decant convert -f raw disk.qcow2 ou', ['out/']],
  ['decant convert --password-file sec', ['secret.txt']],
  ['decant convert --with=sec', ['--with=secret.txt']],
];

/** Options that the help of `info` does not name are not offered for it. */
const NOT_OFFERED = 'decant info --siz';

function fill(folder: string): void {
  writeFileSync(join(folder, 'disk.qcow2'), '');
  writeFileSync(join(folder, 'secret.txt'), '');
  mkdirSync(join(folder, 'out'));
}

/** Inserts all completions. Both shells that read keys bind it. */
const ALL = '\u001b*';

/** The arguments that the function gets for each line, when all completions of its last word are inserted. */
function typed(folder: string, shell: string, env: NodeJS.ProcessEnv): string[][] {
  const keys = `${[...LINES.map(([line]) => line), NOT_OFFERED].map((line) => `${line}${ALL}`).join('\n')}\nexit\n`;
  const options = { cwd: folder, env: { ...process.env, ...env }, input: keys, encoding: 'utf8' } as const;
  const { stdout } = spawnSync('script', ['-qec', shell, '/dev/null'], options);
  return [...stdout.matchAll(/<<(.*?)>>/g)].map(([, words]) => words!.split('><'));
}

const sorted = (words: string[]): string[] => words.map((word) => word.replace(/^out$/, 'out/')).toSorted();

/** `given` has the words of each line, the last of which are completed. */
function check(given: string[][]): void {
  expect(given).toHaveLength(LINES.length + 1);
  for (const [at, [line, completed]] of LINES.entries()) {
    const before = line.split(' ').slice(1, -1);
    const words = given[at]!;
    expect(words.slice(0, before.length), line).toEqual(before);
    // After an equals sign, bash completes the value alone.
    const added = words.slice(before.length).map((word, index) => (index === 0 ? word : withOption(line, word)));
    expect(sorted(added), line).toEqual(sorted(completed));
  }
  expect(given.at(-1)).toEqual(NOT_OFFERED.split(' ').slice(1));
}

const withOption = (line: string, word: string): string => {
  const [, option] = /(--\w+=)\S*$/.exec(line) ?? [];
  return option === undefined || word.startsWith(option) ? word : option + word;
};

test('bash', ({ folder }) => {
  fill(folder);
  writeFileSync(join(folder, 'completions'), decant('completions', 'bash').stdout);
  const lines = [
    'source ./completions',
    "bind 'set completion-query-items 0'",
    "decant() { printf '<'; printf '<%s>' \"$@\"; echo '>'; }",
  ];
  writeFileSync(join(folder, '.rc'), lines.join('\n'));
  check(typed(folder, 'bash --noprofile --rcfile .rc -i', {}));
});

test('zsh', FULL, ({ folder }) => {
  fill(folder);
  writeFileSync(join(folder, 'completions'), decant('completions', 'zsh').stdout);
  const lines = [
    'autoload -Uz compinit; compinit -u -D',
    'source ./completions',
    'LISTMAX=0',
    'zle -C all-matches complete-word _generic',
    String.raw`bindkey '\e*' all-matches`,
    "zstyle ':completion:all-matches:*' insert true",
    "zstyle ':completion:all-matches::::' completer _all_matches _complete",
    `decant() { print -r -- "<<\${(j:><:)@}>>" }`,
  ];
  writeFileSync(join(folder, '.zshrc'), lines.join('\n'));
  check(typed(folder, 'zsh -i', { ZDOTDIR: folder }));
});

test('fish', FULL, ({ folder }) => {
  fill(folder);
  writeFileSync(join(folder, 'completions'), decant('completions', 'fish').stdout);
  const offered = (line: string): string[] => {
    const args = ['--no-config', '-c', 'source ./completions; complete -C $argv[1]', line];
    const { stdout, stderr } = spawnSync('fish', args, {
      cwd: folder,
      env: { ...process.env, HOME: folder },
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((row) => row.split('\t')[0]!);
  };
  for (const [line, completed] of LINES) expect(sorted(offered(line)), line).toEqual(sorted(completed));
  expect(offered(NOT_OFFERED)).toEqual([]);
});
