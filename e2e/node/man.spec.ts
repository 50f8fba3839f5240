// The man page of the package, as programs for man pages read it.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { decant } from '../support/command.js';
import { expect, FULL, test } from '../support/node.js';

// npm installs a man page from a list only.
const {
  man: [man],
  version,
} = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const page = fileURLToPath(new URL(`../../${man}`, import.meta.url));

test('it is of this version, and has all commands and options', () => {
  const source = readFileSync(page, 'utf8');
  expect(source).toContain(`"decant ${version}"`);
  const commands = [...decant('--help').stdout.matchAll(/^ {2}(\w+) {2}/gm)].map(([, name]) => name!);
  expect(commands.length).toBeGreaterThan(4);
  for (const name of commands) {
    expect(source).toContain(`.SS decant ${name}\n`);
    const options = [...decant('help', name).stdout.matchAll(/^ {2}(?:-\w, )?--([\w-]+)/gm)].map(
      ([, option]) => option!,
    );
    for (const option of options) expect(source).toContain(`\\-\\-${option.replaceAll('-', '\\-')}`);
  }
});

test('man shows it, and programs that check man pages accept it', FULL, () => {
  const env = { ...process.env, MANWIDTH: '80', LC_ALL: 'C.UTF-8' };
  const shown = spawnSync('man', ['--warnings', '-l', page], { env, encoding: 'utf8' });
  expect(shown).toMatchObject({ status: 0, stderr: '' });
  expect(shown.stdout).toMatch(/^NAME\n +decant - read and convert virtual disk images\n/m);
  expect(shown.stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  expect(spawnSync('groff', ['-man', '-ww', '-z', page], { encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
  });
  // A build has no date, so that it is reproducible.
  const found = spawnSync('mandoc', ['-T', 'lint', page], { encoding: 'utf8' }).stdout.trim().split('\n');
  expect(found).toEqual([expect.stringContaining('missing date')]);
});
