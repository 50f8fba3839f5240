// docs/command.md has the exit codes of all commands, all options, and what each command does with difficult images. The tables
// between markers are made from those of the command: `npm run registries` writes them.

import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ALL_OPTIONS } from './command-options.js';
import { COMMANDS, commandEntry, EXIT_INTERRUPTED, TOPICS } from './commands.js';

const path = new URL('../../docs/command.md', import.meta.url);

/** A table of Markdown. */
const table = ([head, ...rows]: string[][]): string =>
  [head!, head!.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`)
    .join('\n');

const code = (text: string): string => `\`${text}\``;

function exitCodes(): string {
  const codes = [...new Set(TOPICS.flatMap((name) => Object.keys(commandEntry(name).exitCodes)))].toSorted(
    (a, b) => Number(a) - Number(b),
  );
  const rows = TOPICS.map((name) => {
    const meanings = commandEntry(name).exitCodes;
    return [code(name), ...codes.map((number) => meanings[Number(number)] ?? '')];
  });
  return table([['command', ...codes], ...rows]);
}

function options(): string {
  const rows = ALL_OPTIONS.flatMap(({ commands = ['all'], help }) =>
    Object.entries(help).map(([form, text]) => [code(form), commands.join(', '), text]),
  );
  return table([['option', 'commands', 'meaning'], ...rows]);
}

for (const [name, made] of [
  ['exit codes', exitCodes()],
  ['options', options()],
] as const) {
  test(name, () => {
    const document = readFileSync(path, 'utf8');
    const [before, rest] = document.split(`<!-- ${name} -->\n`);
    const [found, after] = rest!.split(`\n<!-- /${name} -->`);
    if (process.env.DECANT_WRITE_REGISTRIES === undefined) expect(found).toBe(made);
    else writeFileSync(path, `${before}<!-- ${name} -->\n${made}\n<!-- /${name} -->${after}`);
  });
}

const document = readFileSync(path, 'utf8');

test('the exit codes of interruptions', () => {
  for (const [signal, code] of Object.entries(EXIT_INTERRUPTED)) expect(document).toContain(`${code} after ${signal}`);
});

test('encrypted, damaged and streamed images, for each command that opens images', () => {
  const [, section = ''] = document.split('## Encrypted, damaged and streamed images\n');
  const rows = [...section.split('\n## ')[0]!.matchAll(/^\| `(\w+)` \|([^|]+)\|([^|]+)\|([^|]+)\|$/gm)];
  expect(rows.map(([, name]) => name)).toEqual(Object.keys(COMMANDS));
});
