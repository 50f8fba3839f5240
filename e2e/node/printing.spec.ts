// Printing to a standard output that is closed, or full.

import { cli, run } from '../support/command.js';
import { images } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const COMMANDS = [
  ['info', images.kinds, {}],
  ['info --output=json', images.kinds, FULL],
  ['map', images.plain, FULL],
  ['map --output=json', images.tiny, {}],
  ['--help', () => '', FULL],
] as const;

const NO_SPACE = 'decant: Could not write to standard output: the disk is full\n';

/** Makes descriptor 4 a pipe whose reader has ended. */
const UNREAD = 'mkfifo pipe && exec 3<>pipe 4>pipe 3>&-; ';

for (const [command, image, details] of COMMANDS) {
  for (const [what, before, to, status, stderr] of [
    ['is full', '', '> /dev/full', 1, NO_SPACE],
    // As a program that SIGPIPE ends: there is no reader.
    ['has no reader', UNREAD, '>&4', 0, ''],
  ] as const) {
    test(`decant ${command}: standard output ${what}`, details, ({ folder }) => {
      const script = `${before}"$1" "$2" ${command} $3 ${to}`;
      const ended = run('bash', ['-c', script, 'bash', process.execPath, cli, image()], { cwd: folder });
      expect(ended).toEqual({ status, stdout: '', stderr });
    });
  }
}
