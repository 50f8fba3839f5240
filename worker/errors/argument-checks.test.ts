import { describe, expect, test } from 'vitest';
import { checkNames, namesOf } from './argument-checks.js';

interface Options {
  signal?: AbortSignal;
  onProgress?: () => void;
  formatOptions?: object;
}
const NAMES = namesOf<Options>({ signal: true, onProgress: true, formatOptions: true });
const failure = (options: object) => {
  try {
    checkNames('convert', options, NAMES);
  } catch (thrown) {
    return thrown;
  }
  return undefined;
};

describe('options', () => {
  test.each([
    {},
    { signal: 1 },
    { onProgress: 1, formatOptions: 1 },
    { another: undefined },
  ])('%j are taken', (options) => expect(failure(options)).toBeUndefined());

  test.each([
    ['onprogress', 'onProgress'],
    ['progress', 'onProgress'],
    ['OnProgres', 'onProgress'],
    ['format-options', 'formatOptions'],
    ['signals', 'signal'],
    ['singal', 'signal'],
  ])('%s is %s', (option, nearest) => {
    expect(failure({ [option]: 1 })).toMatchObject({
      kind: 'usage',
      code: 'unknown-option',
      message: `convert has no option '${option}'; did you mean '${nearest}'?`,
      fields: { call: 'convert', option, nearest },
    });
  });

  test.each(['engine', 'x', 'toString', ''])("'%s' is like none", (option) => {
    expect(failure({ [option]: 1 })).toMatchObject({
      kind: 'usage',
      message: `convert has no option '${option}'; it takes signal, onProgress, formatOptions`,
      fields: { call: 'convert', option },
    });
  });
});

test('the names of a union are those of all its members', () => {
  expect(namesOf<{ a: 1 } | { b: 1 }>({ a: true, b: true })).toEqual(['a', 'b']);
});
