// The registry of places, and the commands for each.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { OUTPUTS } from '../public/registry.js';
import { placeNamed, placeRefusal } from './choice.js';
import { nextStep, places } from './index.js';
import { quotedForPowerShell, quotedForSh } from './next-step.js';

describe('commands', () => {
  /** Makes trouble in every shell, and in lists that commas separate. */
  const FILE = "-it's, $(id) 磁盘.x";
  const MADE = { size: 3 * 2 ** 20 + 512, virtualSize: 3 * 2 ** 30 + 1 };

  for (const { name, formats, limits } of places) {
    describe(name, () => {
      for (const { name: format } of formats) {
        const step = nextStep(name, { ...MADE, file: FILE, format });
        if (!step) continue;

        test(`the commands for ${format} have the words to replace, and no others`, () => {
          const text = step.commands.join('\n');
          for (const word of step.replace) expect(text).toContain(word);
          expect(text).not.toMatch(/undefined|NaN|null/);
        });

        if (step.shell !== 'sh') continue;
        for (const command of step.commands) {
          test(`a shell reads '${command.slice(0, 40)}...'`, () => {
            const script = `set -f; printf '%s\\n' ${command}`;
            const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
            expect([status, stderr]).toEqual([0, '']);
            if (!stdout.includes('磁盘')) return;
            expect(stdout.replaceAll(',,', ',')).toContain(`./${FILE}`);
          });
        }
      }

      test('limits have a source', () => {
        for (const { source, min, max } of limits) {
          expect(new URL(source).protocol).toBe('https:');
          expect(min ?? max).toBeDefined();
        }
      });
    });
  }

  describe('names for machines and objects', () => {
    for (const [file, machine] of [
      ['/a/b/Web Server_01.tar.gz', 'web-server-01'],
      ['C:\\disks\\x.vhd', 'x'],
      ['2024-01 disk.raw', 'disk'],
      ['磁盘.raw', 'disk'],
      [`${'a'.repeat(59)}--b.raw`, 'a'.repeat(59)],
    ]) {
      test(file!, () => {
        const step = nextStep('google', { ...MADE, file: file!, format: 'tar.gz' });
        expect(step?.commands[1]).toBe(
          `gcloud compute images create ${machine} --source-uri gs://BUCKET/${machine}.tar.gz`,
        );
      });
    }
  });

  test('places accept formats that are written', () => {
    const names = OUTPUTS.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(places.flatMap(({ formats }) => formats.map(({ name }) => name))));
  });

  test('docs/places.md lists all places', () => {
    const document = readFileSync(new URL('../../docs/places.md', import.meta.url), 'utf8');
    const rows = [...document.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)].map(([, name, label]) => ({ name, label }));
    expect(rows).toEqual(places.map(({ name, label }) => ({ name, label })));
  });

  test('an unknown place has no commands', () => {
    expect(nextStep('constructor', { ...MADE, file: 'a', format: 'raw' })).toBeUndefined();
  });

  describe('limits', () => {
    const GIB = 2 ** 30;
    for (const [place, sizes, refused] of [
      ['azure', { outputSize: 20_972_032 }, undefined],
      ['azure', { outputSize: 20_972_031 }, { of: 'file', min: 20_972_032 }],
      ['azure', { outputSize: 35_183_298_347_521 }, { of: 'file', max: 35_183_298_347_520 }],
      ['azure', { virtualSize: 1 }, undefined],
      ['digitalocean', { virtualSize: 100 * GIB }, undefined],
      ['digitalocean', { virtualSize: 100 * GIB + 1 }, { of: 'disk', max: 100 * GIB }],
      ['linode', { outputSize: undefined, virtualSize: 100 * GIB }, undefined],
    ] as const) {
      test(`${place}: ${JSON.stringify(sizes)}`, () => {
        const refusal = placeRefusal(placeNamed(place), sizes);
        if (!refused) expect(refusal).toBeUndefined();
        else expect(refusal).toMatchObject({ kind: 'limit', code: 'place-limit', fields: { place, ...refused } });
      });
    }
  });
});

describe('quoting', () => {
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
});
