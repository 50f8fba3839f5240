import { expect, test } from 'vitest';
import { LONGEST_TIMER, milliseconds } from './time-outs.js';

test.for([
  [0, 0],
  [0.5, 500],
  [30, 30_000],
  [LONGEST_TIMER, LONGEST_TIMER],
  [Number.POSITIVE_INFINITY, LONGEST_TIMER],
])('%d seconds are %d milliseconds', ([seconds, expected]) => {
  expect(milliseconds('timeout', seconds!)).toBe(expected);
});

test.for([
  [Number.NaN, 'NaN'],
  [-1, '-1'],
  [-0.001, '-0.001'],
  ['5', 'a value of type string'],
  [null, 'a value of type null'],
  [5n, 'a value of type bigint'],
  [[5], 'a value of type object'],
  [Symbol('5'), 'a value of type symbol'],
] as const)('%s is not a time', ([seconds, given]) => {
  const message = `'patience' must be a number of seconds, 0 or more, not ${given}`;
  expect(() => milliseconds('patience', seconds as number)).toThrow(
    expect.objectContaining({ kind: 'usage', message }),
  );
});
