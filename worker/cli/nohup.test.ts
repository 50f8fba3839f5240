// Whether a hang-up was ignored, by the environment and by the parent process.

import { expect, test } from 'vitest';
import { ignoresHangUp } from './nohup.js';

const status = (mask: string) => `Name:\tsh\nSigBlk:\t0000000000000001\nSigIgn:\t${mask}\nSigCgt:\t0000000000000001\n`;
const NONE = status('0000000000001000');
const HANG_UP = status('0000000000001001');

for (const [what, program, parent, expected] of [
  ['nohup', '/usr/bin/nohup', NONE, true],
  ['nohup without a folder', 'nohup', NONE, true],
  ['nohup on a system without /proc', '/usr/bin/nohup', undefined, true],
  ['a parent that ignores hang-ups', '/usr/bin/node', HANG_UP, true],
  ['another program', '/opt/mynohup', NONE, false],
  ['a shell that does not tell the program', undefined, NONE, false],
  ['a system without /proc', '/usr/bin/node', undefined, false],
] as const) {
  test(what, () => {
    expect(ignoresHangUp(program ?? '', parent ?? '')).toBe(expected);
  });
}
