// Guesses of what was meant.

import { describe, expect, test } from 'vitest';
import { didYouMean, nearest, typingErrors } from './did-you-mean.js';

describe('typing errors', () => {
  for (const [a, b, errors] of [
    ['', '', 0],
    ['', 'abc', 3],
    ['abc', '', 3],
    ['convert', 'convert', 0],
    ['convret', 'convert', 1],
    ['covnret', 'convert', 2],
    ['conver', 'convert', 1],
    ['convertt', 'convert', 1],
    ['konvert', 'convert', 1],
    ['ab', 'ba', 1],
    ['abc', 'cba', 2],
    ['kitten', 'sitting', 3],
  ] as const) {
    test(`'${a}' and '${b}': ${errors}`, () => {
      expect([typingErrors(a, b), typingErrors(b, a)]).toEqual([errors, errors]);
    });
  }
});

const COMMANDS = ['info', 'map', 'convert', 'compare', 'check', 'completions', 'help'];
const FORMATS = ['raw', 'qcow2', 'vmdk', 'vpc', 'vhd', 'vhdx', 'vdi', 'raw.gz', 'ova'];

describe('the nearest names', () => {
  for (const [typed, known, names] of [
    ['convret', COMMANDS, ['convert']],
    ['CONVERT', COMMANDS, ['convert']],
    ['comp', COMMANDS, ['compare', 'completions']],
    ['inof', COMMANDS, ['info']],
    ['mpa', COMMANDS, ['map']],
    ['chekc', COMMANDS, ['check']],
    ['frobnicate', COMMANDS, []],
    ['x', COMMANDS, []],
    ['', COMMANDS, []],
    ['ls', COMMANDS, []],
    ['qcow3', FORMATS, ['qcow2']],
    ['qcow', FORMATS, ['qcow2']],
    ['vdx', FORMATS, ['vhdx', 'vdi']],
    ['vmkd', FORMATS, ['vmdk']],
    ['rwa', FORMATS, ['raw']],
    ['xml', ['human', 'json'], []],
    ['jsn', ['human', 'json'], ['json']],
    ['ftp', ['s3', 'gcs', 'tus', 'azure'], []],
    ['s4', ['s3', 'gcs', 'tus', 'azure'], ['s3']],
    ['x'.repeat(100_000), ['x'.repeat(99_999)], []],
  ] as const) {
    test(`${typed.slice(0, 20)}: ${names.join(', ').slice(0, 20) || 'none'}`, () => {
      expect(nearest(typed, known)).toEqual(names);
    });
  }
});

test('one name, two, three, and none', () => {
  expect(didYouMean('abd', ['abc', 'x'])).toBe('did you mean abc?');
  expect(didYouMean('abd', ['abc', 'abe'])).toBe('did you mean abc or abe?');
  expect(didYouMean('abd', ['abc', 'abe', 'abf'])).toBe('did you mean abc, abe or abf?');
  expect(didYouMean('abd', ['xyz'])).toBeUndefined();
});
