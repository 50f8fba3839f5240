// Quoting, and commands of words with placeholders.

import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { json, powershell, quotedForPowerShell, quotedForSh, sh, Word, word } from './words.js';

const NAMES = [
  'disk.qcow2',
  'a b.raw',
  "it's.raw",
  '$(touch x)`id`.raw',
  '"quoted" \\ back\\slash.raw',
  '!history *?[a-z]{b,c}~.raw',
  'a;b|c&d<e>f#g.raw',
  'Größe 磁盘 💽.raw',
  'new\nline\ttab\r.raw',
  "hidden\u202e it's \\ .raw",
  '\u001b[31mred.raw',
  '-n',
  '=x',
  '',
];

for (const [how, command] of [
  ['', (name) => `printf '[%s]' ${quotedForSh(name)}`],
  [', as the end of a word', (name) => sh`printf '[%s]' ${word`${new Word(name, ['NAME'])}`}`.line],
  [', always', (name) => sh`printf '[%s]' ${new Word(name, ['NAME'], true)}`.line],
] as [string, (name: string) => string][]) {
  test(`names for bash${how}`, () => {
    const script = NAMES.map((name) => `${command(name)}; printf '\\0'\n`).join('');
    const { stdout } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
    expect(stdout.split('\0')).toEqual([...NAMES.map((name) => `[${name}]`), '']);
  });
}

describe('for PowerShell', () => {
  for (const [name, quoted] of [
    ['C:\\disks\\web.vhd', 'C:\\disks\\web.vhd'],
    ['a b.vhd', "'a b.vhd'"],
    ["it's ‘typographic’.vhd", "'it''s ‘‘typographic’’.vhd'"],
    ['$(x) `y` "z".vhd', `'$(x) \`y\` "z".vhd'`],
    ['a\u202e$b`“.vhd', '"a$([char]0x202e)`$b```“.vhd"'],
  ]) {
    test(JSON.stringify(name), () => expect(quotedForPowerShell(name!)).toBe(quoted));
  }
});

const own = new Word('a b', ['BUCKET']);

for (const [what, command, line, placeholders] of [
  ['no words', sh`ls -l`, 'ls -l', []],
  ['numbers and texts', sh`ls ${1} --size=${'a b'}`, "ls 1 --size='a b'", []],
  ['lists', sh`ls ${['-l', 'a b']} ${[]} -a ${[]}`, "ls -l 'a b' -a", []],
  ['placeholders, each once', sh`cp ${own} ${word`s3://${own}/${'x'}`}`, "cp 'a b' 's3://a b/x'", ['BUCKET']],
  ['a placeholder that is always quoted', sh`get ${new Word('URL', ['URL'], true)}`, "get 'URL'", ['URL']],
  ['JSON', sh`put ${json([{ a: new Word('"', ['A']), b: own }])}`, `put '[{"a":"\\"","b":"a b"}]'`, ['A', 'BUCKET']],
  ['PowerShell', powershell`New-VM ${own} ${[new Word("it's")]}`, "New-VM 'a b' 'it''s'", ['BUCKET']],
] as const) {
  test(what, () => expect(command).toEqual({ line, placeholders }));
}
