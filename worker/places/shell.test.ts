// The quoting of names for shells, tried by bash itself.

import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { quotedForPowerShell, quotedForSh } from './shell.js';

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
];

describe('for bash', () => {
  for (const name of NAMES) {
    test(JSON.stringify(name), () => {
      const { stdout } = spawnSync('bash', ['-c', `printf '[%s]' ${quotedForSh(name)}`], { encoding: 'utf8' });
      expect(stdout).toBe(`[${name}]`);
    });
  }
});

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
