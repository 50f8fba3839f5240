// The help fits a terminal, and names everything that a command takes.

import { describe, expect, test } from 'vitest';
import { ALL_OPTIONS, optionsOf } from './command-options.js';
import { COMMANDS, commandEntry, exitCodesOf, isCommand, TOPICS } from './commands.js';
import { formsOf, generalHelp, helpOf, usageOf, wrapped } from './help.js';

describe('lines', () => {
  for (const [start, text, column, lines] of [
    ['ab', 'c', 4, ['ab  c']],
    ['', 'c', 4, ['    c']],
    ['abcd', 'c d', 4, ['abcdc d']],
    ['abcde', 'c d', 4, ['abcde', '    c d']],
    ['', '', 4, ['']],
    ['', 'x'.repeat(100), 4, [`    ${'x'.repeat(100)}`]],
    ['', `${'x'.repeat(74)} y z`, 4, [`    ${'x'.repeat(74)}`, '    y z']],
    ['', `${'x'.repeat(73)} y z`, 4, [`    ${'x'.repeat(73)} y`, '    z']],
  ] as const) {
    test(`'${start}', '${text.slice(0, 20)}'`, () => expect(wrapped(start, text, column)).toEqual(lines));
  }
});

const HELPS = [['all', generalHelp()] as const, ...TOPICS.map((name) => [name, helpOf(name)] as const)];

describe('every line fits 80 columns', () => {
  for (const [name, lines] of HELPS)
    test(name, () => expect(lines.filter((line) => line.length > 80 || line !== line.trimEnd())).toEqual([]));
});

describe('the general help', () => {
  const lines = generalHelp();

  test('names each command on one line', () => {
    for (const name of TOPICS)
      expect(lines.filter((line) => line.startsWith(`  ${name} `))).toEqual([
        expect.stringContaining(commandEntry(name).summary),
      ]);
  });

  test('is short', () => expect(lines.length).toBeLessThan(TOPICS.length + 10));
});

describe('the help of a command', () => {
  for (const name of TOPICS) {
    const [help, entry] = [helpOf(name), commandEntry(name)];
    // Independent of line breaks.
    const text = help.join(' ').replaceAll(/ +/g, ' ');

    test(`${name}: its usage, summary, operands, exit codes and examples`, () => {
      expect(text.startsWith(`usage: decant ${usageOf(name)}`)).toBe(true);
      expect(text.toLowerCase()).toContain(` ${entry.summary.toLowerCase()}. `);
      for (const operand of entry.operands) expect(text).toContain(` ${operand.name} ${operand.text} `);
      for (const [code, meaning] of exitCodesOf(name)) expect(text).toContain(` ${code} ${meaning} `);
      for (const [line, about] of entry.examples) expect(text).toContain(` decant ${line} ${about}`);
      expect(entry.examples.length).toBeGreaterThan(0);
    });

    test(`${name}: its options, and no others`, () => {
      const named = ALL_OPTIONS.filter((option) => help.some((line) => isAbout(line, option.name)));
      expect(named).toEqual(isCommand(name) ? optionsOf(name) : []);
    });
  }
});

/** Whether `line` explains the option `name`. */
const isAbout = (line: string, name: string): boolean => new RegExp(`^ {2}(-\\w, )?--${name}( |\\[|$)`).test(line);

test('options with the same text are explained together', () => {
  const forms = formsOf(ALL_OPTIONS);
  expect(new Set(forms.map(([, text]) => text)).size).toBe(forms.length);
  expect(forms.some(([forms]) => forms.length > 1)).toBe(true);
});

describe('the table of commands', () => {
  for (const [name, entry] of Object.entries(COMMANDS)) {
    test(name, () => {
      const { exitCodes, failed, wrongUsage } = commandEntry(name as keyof typeof COMMANDS);
      expect(Object.keys(exitCodes)).toEqual(expect.arrayContaining(['0', String(failed), String(wrongUsage)]));
      expect([failed, wrongUsage]).not.toContain(0);
      expect(entry.summary).toMatch(/^[a-z].*[^.]$/);
      for (const [line] of entry.examples) expect(line.startsWith(`${name} `)).toBe(true);
    });
  }
});
