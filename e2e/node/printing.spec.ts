// What is printed to a standard output that takes nothing, or no more.

import { cli, run } from '../support/command.js';
import { images } from '../support/images.js';
import { expect, test } from '../support/node.js';

const COMMANDS = [
  ['info', images.kinds],
  ['info --output=json', images.kinds],
  ['map', images.plain],
  ['map --output=json', images.tiny],
  ['--help', () => ''],
] as const;

const FULL = 'decant: Could not write to standard output: the disk is full\n';

for (const [command, image] of COMMANDS) {
  for (const [what, to, status, stderr] of [
    ['is full', '> /dev/full', 1, FULL],
    // As a program that SIGPIPE ends: nobody is left to be told.
    ['has no reader', '| true', 0, ''],
  ] as const) {
    test(`decant ${command}: standard output ${what}`, () => {
      const script = `"$1" "$2" ${command} $3 ${to}`;
      const ended = run('bash', ['-o', 'pipefail', '-c', script, 'bash', process.execPath, cli, image()]);
      expect(ended).toEqual({ status, stdout: '', stderr });
    });
  }
}
